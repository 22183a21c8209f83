package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mymmrac/telego"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/mocks"

	"stagecoach/api/bot/chat"
	"stagecoach/api/parts"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/dev/wire"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/telegram"
	"stagecoach/internal/torznab"
)

func TestMain(m *testing.M) { testdb.Main(m) }

const (
	botToken = "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	boss     = int64(100) // a Telegram id
	anna     = int64(200)
	boris    = int64(300)
)

// rig has a simulated Telegram with people, a database, a Temporal that agrees to everything, and bots.
type rig struct {
	t        *testing.T
	telegram *telegramsim.Server
	url      string
	store    *store.Store
	wire     *wire.Wire // between the bots and PostgreSQL
	temporal *mocks.Client
	away     atomic.Int64 // updates that do not reach it
	stuck    fault.Code   // why no torrent can be removed; empty: no workflow of a download runs
	catalog  *testCatalog
	services all.Services
	prowlarr *torznabsim.Server
	indexers *torznab.Client
	library  bool // a library folder is configured
	options  Options
	log      *logBuffer
	updates  int         // number of updates that a test has handed to a bot itself
	taken    int         // number of notifications that a test has taken, and nobody sends
	unpriced atomic.Bool // Fragment does not report prices of Stars
}

func newRig(t *testing.T) *rig {
	t.Helper()
	w := &rig{t: t, log: &logBuffer{}}
	var err error
	if w.telegram, err = telegramsim.New(telegramsim.Options{Dir: t.TempDir(), Token: botToken}); err != nil {
		t.Fatal(err)
	}

	address, stop, err := sim.Start("127.0.0.1:0", w.telegram)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		stop()
		_ = w.telegram.Close()
		if t.Failed() {
			t.Log(w.log.String())
		}
	})

	w.url = address
	w.wire = wire.New(t, testdb.URL(t))
	if w.store, err = store.Open(t.Context(), w.wire.URL, testdb.Key); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(w.store.Close)
	w.temporal = mocks.NewClient(t)
	for _, input := range [][]any{{mock.Anything}, {mock.Anything, mock.Anything}} { // a task's workflow has two
		w.temporal.On(
			"ExecuteWorkflow", append([]any{mock.Anything, mock.Anything, mock.Anything}, input...)...,
		).Return(mocks.NewWorkflowRun(t), nil).Maybe()
	}
	w.temporal.On("NewWithStartWorkflowOperation", mock.Anything, mock.Anything, mock.Anything).Return(nil).Maybe()
	w.temporal.On(
		"UpdateWithStartWorkflow", mock.Anything, mock.Anything,
	).Return((&transactionWorkflows{store: w.store}).update).Maybe()
	w.temporal.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(w.update).Maybe()
	w.catalog = &testCatalog{store: w.store}
	w.startProwlarr()
	w.services = w.newServices()
	w.options = Options{
		AdminIDs: []int64{boss}, ActivateAtOnce: true, EditEvery: 300 * time.Millisecond, PollTimeout: time.Second,
		GatherNotices: 200 * time.Millisecond, AlertCalm: time.Second,
	}

	return w
}

func (w *rig) newServices() all.Services {
	log := slog.New(slog.NewTextHandler(w.log, nil))
	services := all.Services{
		Deliveries: &deliveries.Service{
			Temporal: w.temporal, Store: w.store, MaxFileSize: 2_097_152_000, Log: log,
			Limits: deliveries.Limits{TTL: time.Hour, JobTimeout: time.Minute},
		},
		Tasks:     &tasks.Service{Temporal: w.temporal, Store: w.store, Log: log, Patience: 5 * time.Second},
		Downloads: &downloads.Service{Temporal: w.temporal, Store: w.store, Log: log, Indexers: w.indexers, Library: w.library},
		Transactions: &transactions.Service{
			Temporal: w.temporal, Store: w.store, Log: log, Patience: 5 * time.Second, StuckAfter: time.Hour, Most: 1_000_000,
			Reserve: 20_000_000,
			Price:   w.price, Friendly: func(string) string { return "UQwallet" },
		},
	}
	services.Downloads.Deliveries = services.Deliveries
	return services
}

// bot makes a bot: run it, or call its methods.
func (w *rig) bot() *Bot {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	client, err := telegram.New(telegram.Options{Token: botToken, APIURL: w.url, ConnectTimeout: time.Second})
	if err != nil {
		w.t.Fatal(err)
	}

	o := w.options
	o.Telegram, o.Store, o.Log, o.Parts = client, w.store, log, parts.Bot(w.services, w.catalog, w.store)
	o.Status = steady{}
	return New(o)
}

// handles has a bot handle a batch of updates, and records that. A bot that polls meanwhile would continue after these
// updates, and lose those with lower ids.
func (w *rig) handles(b *Bot, updates ...telego.Update) {
	w.t.Helper()
	in := newIntake(w.t.Context(), b)
	if err := in.take(w.t.Context(), updates); err != nil {
		w.t.Fatal(err)
	}
	in.running.Wait()
}

// handlesBeside has a bot handle updates beside one that polls, and does not record that.
func (w *rig) handlesBeside(b *Bot, updates ...telego.Update) {
	w.t.Helper()
	in := newIntake(w.t.Context(), b)
	for _, update := range updates {
		incoming, understood := readUpdate(update)
		if !understood {
			w.t.Fatalf("the bot does not understand %+v", update)
		}
		in.queue(w.t.Context(), incoming)
	}
	in.running.Wait()
}

// run runs a bot until the test ends, or until stop.
func (w *rig) run(b *Bot) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	w.t.Cleanup(stop)
	return stop
}

// writes sends a person's message to the bot.
func (w *rig) writes(person int64, language, words string) {
	w.t.Helper()
	body, _ := json.Marshal(map[string]string{"text": words, "language_code": language})
	answer, err := http.Post(
		fmt.Sprintf("%s/_/users/%d/messages", w.url, person), "application/json", bytes.NewReader(body),
	)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		w.t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
}

// presses presses the button whose data or label begins so, on the newest message that has one.
func (w *rig) presses(person int64, button string) {
	w.t.Helper()
	w.eventually("a button "+button, func() bool {
		for _, message := range slices.Backward(w.messages(person)) {
			if data := findButton(message, button); data != "" {
				return w.telegram.Click(person, data) == nil
			}
		}
		return false
	})
}

func findButton(m telegramsim.Message, begins string) string {
	for _, b := range slices.Concat(m.Buttons...) {
		if strings.HasPrefix(b.Data, begins) || strings.Contains(b.Text, begins) {
			return b.Data
		}
	}
	return ""
}

// messages returns what the bot shows in a chat now.
func (w *rig) messages(person int64) []telegramsim.Message {
	var shown []telegramsim.Message
	for _, m := range w.telegram.Chat(person).Messages {
		if m.FromBot && !m.Deleted {
			shown = append(shown, m)
		}
	}
	return shown
}

// sees waits until the chat shows a message with all these parts, and returns it.
func (w *rig) sees(person int64, parts ...string) (seen telegramsim.Message) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("a message with %q", parts), func() bool {
		for _, m := range slices.Backward(w.messages(person)) {
			missing := func(part string) bool { return !strings.Contains(m.Text, part) && findButton(m, part) == "" }
			if !slices.ContainsFunc(parts, missing) {
				seen = m
				return true
			}
		}
		return false
	})

	return seen
}

// notes waits until a press has been answered with these words.
func (w *rig) notes(person int64, words string) {
	w.t.Helper()
	w.eventually("a note with "+words, func() bool { return w.noted(person, words) > 0 })
}

// noted counts the presses that were answered with these words.
func (w *rig) noted(person int64, words string) (n int) {
	for _, c := range w.telegram.Callbacks() {
		if c.UserID == person && strings.Contains(c.Text, words) {
			n++
		}
	}
	return n
}

// eventually waits until something holds, and shows the chats when it never does.
func (w *rig) eventually(what string, holds func() bool) {
	w.t.Helper()
	held := false
	defer func() {
		if held {
			return
		}
		for _, person := range []int64{boss, anna, boris} {
			for _, m := range w.telegram.Chat(person).Messages {
				w.t.Logf("%d: bot=%v deleted=%v %q %v", person, m.FromBot, m.Deleted, m.Text, m.Buttons)
			}
		}
	}()
	wait.Eventually(w.t, what, holds)
	held = true
}

func (w *rig) user(person int64) (user account.User) {
	w.t.Helper()
	w.eventually("a user", func() (found bool) {
		var err error
		user, err = w.store.Accounts.UserByTelegram(w.t.Context(), person)
		return err == nil
	})
	return user
}

// job creates a person's job for a file of 1,000,000 bytes.
func (w *rig) job(person int64, name string) delivery.Job {
	w.t.Helper()
	user, _, err := w.store.Accounts.EnsureTelegramUser(w.t.Context(), account.User{TelegramID: &person, Status: account.UserActive})
	if err != nil {
		w.t.Fatal(err)
	}

	file := w.catalog.add(w.t, "/"+name, 1_000_000)
	client := w.services.Deliveries
	job, _, err := client.Request(w.t.Context(), user, file.ID, chat.Nonce(), delivery.SourceBot)
	if err != nil {
		w.t.Fatal(err)
	}

	return job
}

// moves updates a job as a worker would.
func (w *rig) moves(id int64, change func(*delivery.Job)) {
	w.t.Helper()
	_, err := w.store.Deliveries.Change(w.t.Context(), id, func(walk *delivery.JobWalk) error {
		from, now := walk.Row.State, time.Now()
		walk.Row.ClaimedAt, walk.Row.HeartbeatAt = &now, &now
		change(walk.Row)
		to := walk.Row.State
		walk.Note("test")
		return testdb.WalkTo(walk, lifecycle.Delivery, from, to, delivery.JobStep{})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) jobs() []delivery.Job {
	w.t.Helper()
	jobs, err := w.store.Deliveries.List(w.t.Context(), delivery.Filter{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return jobs
}

// audited reports whether the log has such an entry.
func (w *rig) audited(action, subject, outcome string) bool {
	entries, err := w.store.Accounts.AuditLog(w.t.Context(), 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(entries, func(e account.AuditEntry) bool {
		return e.Action == action && e.Subject == subject && e.Outcome == outcome && e.Door == account.DoorBot
	})
}
