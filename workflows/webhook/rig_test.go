package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/service/webhooks"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/webhook"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/feed"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	hooks "stagecoach/internal/store/webhook"
	"stagecoach/internal/webhook"
	webhookworkflow "stagecoach/workflows/webhook"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// firstID gives each test unique ids: they name workflows, and the server remembers those of earlier tests.
var firstID atomic.Int64

// rig is a user with a webhook receiver, an API that wakes, and a worker that sends.
type rig struct {
	*testing.T
	server   *testtemporal.Server
	database string
	store    *store.Store
	webhooks *webhooks.Service
	owner    account.User
	file     delivery.File
	keys     int
	receiver *receiver
	log      *slog.Logger

	sender     *activities.Activities
	stopSender func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}

	r := &rig{T: t, server: testtemporal.Take(t), database: testdb.URL(t), receiver: newReceiver(t)}
	r.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	r.store, err = store.Open(t.Context(), r.database, testdb.Key)
	r.must(err)
	t.Cleanup(r.store.Close)
	r.exec(fmt.Sprintf(`ALTER TABLE webhooks ALTER COLUMN id RESTART WITH %d`, firstID.Add(1_000_000)))

	telegram := int64(7)
	r.owner, err = r.store.Accounts.CreateUser(t.Context(), account.User{TelegramID: &telegram, Status: account.UserActive}, "")
	r.must(err)
	files, err := r.store.Deliveries.SaveFiles(
		t.Context(), []delivery.File{{Path: "/a", Parent: "/", Name: "a", Size: 10, ModifiedAt: time.Now()}},
	)

	r.must(err)
	r.file = files[0]

	sending := webhook.Options{Timeout: time.Minute, AllowPrivate: true}
	r.webhooks = &webhooks.Service{
		Temporal: r.server.Client, Store: r.store.Webhooks, Events: r.store.Notices, Log: r.log, Sending: sending, Patience: time.Minute,
	}

	r.startWorkers(sending)
	r.startFeed()
	return r
}

// startWorkers runs the workers of both queues until the test ends.
func (r *rig) startWorkers(sending webhook.Options) {
	r.Helper()
	main := worker.New(r.server.Client, lifecycle.MainQueue, testtemporal.WorkerOptions())
	main.RegisterWorkflowWithOptions(webhookworkflow.Run, workflow.RegisterOptions{Name: lifecycle.WebhookType})
	main.RegisterActivity(&activities.Stopper{Store: r.store.Webhooks})
	r.must(main.Start())
	r.Cleanup(main.Stop)

	r.sender = &activities.Activities{
		Store: r.store.Webhooks, Events: r.store.Notices, Users: r.store.Accounts, Sender: webhook.NewSender(sending), Log: r.log, Settings: activities.DefaultSettings,
	}
	r.stopSender = r.startSender(r.sender.SendWebhookEvents)
}

// startSender runs a worker until it is stopped, or the test ends.
func (r *rig) startSender(send func(context.Context, int64) (lifecycle.WebhookOutcome, error)) (stop func()) {
	r.Helper()
	sender := worker.New(
		r.server.Client, lifecycle.WebhookQueue, worker.Options{MaxHeartbeatThrottleInterval: time.Second},
	)
	sender.RegisterActivityWithOptions(send, activity.RegisterOptions{Name: "SendWebhookEvents"})
	r.must(sender.Start())
	stop = sync.OnceFunc(sender.Stop)
	r.Cleanup(stop)
	return stop
}

// startFeed runs an API's event reader until the test ends.
func (r *rig) startFeed() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	events := feed.New(feed.Options{
		Events: r.store.Notices, Tokens: r.store.Accounts, Webhooks: r.store.Webhooks,
		Log: r.log, WakeWebhook: r.webhooks.Wake,
		Render: func(core.StreamedEvent) ([]byte, error) { return nil, nil },
		Permit: func(account.Holder) error { return nil },
	})
	running.Go(func() { events.Run(ctx) })
	r.Cleanup(func() { cancel(); running.Wait() })
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) exec(sql string, args ...any) {
	r.Helper()
	_, err := testdb.DB(r, r.database).Exec(r.Context(), sql, args...)
	r.must(err)
}

// hook makes a webhook of the owner's, and waits until it, and the others that there are, have sent the event of its
// creation.
func (r *rig) hook(others ...int64) hooks.Webhook {
	r.Helper()
	r.receiver.secret()
	made, _, err := r.webhooks.Create(r.Context(), core.Request{UserID: r.owner.ID}, r.receiver.URL+"/hidden-path", nil)
	r.must(err)
	for _, id := range append(others, made.ID) {
		r.sendsAll(id)
	}
	r.receiver.secret(made.Secrets[0])
	return made
}

// sendsAll waits until the receiver has all that a webhook has to send by now, and the webhook rests. It may rest
// before: an event can be held back for a moment (testdb.EventsAfter).
func (r *rig) sendsAll(id int64) hooks.Webhook {
	r.Helper()
	last := r.last(id)
	return r.until(id, "sends all", func(w hooks.Webhook) bool { return r.rests(w) && r.has(last) })
}

// rests says whether a webhook waits for events, and its activity has ended.
func (r *rig) rests(w hooks.Webhook) bool {
	if !w.Waiting {
		return false
	}
	about, err := r.server.Client.DescribeWorkflowExecution(r.Context(), lifecycle.WebhookID(w.ID), "")
	return err == nil && len(about.PendingActivities) == 0 && about.PendingWorkflowTask == nil
}

// last is the last message that a webhook has to send by now: they are sent in order.
func (r *rig) last(id int64) string {
	r.Helper()
	want := r.visible(id)
	return want[len(want)-1]
}

// has says whether the receiver has taken a message.
func (r *rig) has(message string) bool { return slices.Contains(r.receiver.ids(), message) }

func (r *rig) until(id int64, what string, is func(hooks.Webhook) bool) (found hooks.Webhook) {
	r.Helper()
	defer func() {
		if r.Failed() {
			r.Logf("%+v", found)
		}
	}()
	wait.Eventually(r, "the webhook "+what, func() bool {
		var err error
		found, err = r.store.Webhooks.ByID(r.Context(), r.owner.ID, id)
		return err == nil && is(found)
	})
	return found
}

// jobs makes deliveries of a user, each with one event.
func (r *rig) jobs(owner account.User, howMany int) {
	r.Helper()
	for range howMany {
		r.keys++
		_, _, err := r.store.Deliveries.Create(r.Context(), delivery.Job{
			IdempotencyKey: fmt.Sprintf("%064x", r.keys), UserID: owner.ID, FileID: r.file.ID, FileName: "a", Size: 10,
			Source: delivery.SourceAPI,
		}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})
		r.must(err)
	}
}

// visible lists the messages that a webhook must send for the record's events, in order.
func (r *rig) visible(id int64) (ids []string) {
	r.Helper()
	for _, event := range testdb.EventsAfter(r, r.database, r.store, core.Cursor{}) {
		if event.OwnerID != nil && *event.OwnerID == r.owner.ID {
			ids = append(ids, fmt.Sprintf("msg_%d_%d", id, event.ID))
		}
	}
	return ids
}

// runs waits until a webhook's workflow is running, or is not.
func (r *rig) runs(id int64, is bool) {
	r.Helper()
	wait.Eventually(r, fmt.Sprintf("the workflow runs: %t", is), func() bool {
		about, err := r.server.Client.DescribeWorkflowExecution(r.Context(), lifecycle.WebhookID(id), "")
		return err == nil && is == (about.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	})
}

// cancels waits until a webhook's workflow has requested its activity's end.
func (r *rig) cancels(id int64) {
	r.Helper()
	asked := func(e *historypb.HistoryEvent) bool { return e.GetActivityTaskCancelRequestedEventAttributes() != nil }
	wait.Eventually(r, "its activity is cancelled", func() bool {
		return slices.ContainsFunc(r.server.History(r.T, lifecycle.WebhookID(id), ""), asked)
	})
}

// failsUnderSignal makes the receiver reject an event while the request's workflow is signalled. The receiver rejects
// until it is set otherwise.
func (r *rig) failsUnderSignal(id int64) hooks.Webhook {
	r.Helper()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	r.receiver.answers(func(w http.ResponseWriter, _ *http.Request) bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-answer
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})

	r.jobs(r.owner, 1)
	<-asked
	r.must(r.webhooks.Signal(r.Context(), id, lifecycle.WebhookAct))
	r.cancels(id)
	close(answer)
	return r.until(id, "fails", func(w hooks.Webhook) bool { return w.FailingSince != nil || w.Waiting })
}

func (r *rig) ends(id int64) {
	r.Helper()
	r.runs(id, false)
}

// message is what a receiver got.
type message struct {
	ID, Signature string
	Body          struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
}

// receiver accepts messages until it is set to answer otherwise.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	answer  func(http.ResponseWriter, *http.Request) bool // whether the message is accepted; nil: it is
	secrets []string
	taken   []message
	tries   int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, rq *http.Request) {
	body, err := io.ReadAll(rq.Body)
	if err != nil {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.tries++
	if r.answer != nil && !r.answer(w, rq) {
		return
	}

	m := message{ID: rq.Header.Get("Webhook-Id"), Signature: rq.Header.Get("Webhook-Signature")}
	if err := json.Unmarshal(body, &m.Body); err != nil {
		r.t.Errorf("the body is %q: %v", body, err)
	}

	for _, secret := range r.secrets {
		if !strings.Contains(m.Signature, signature(secret, m.ID, rq.Header.Get("Webhook-Timestamp"), body)) {
			r.t.Errorf("%s is not signed by each secret: %s", m.ID, m.Signature)
		}
	}

	r.taken = append(r.taken, m)
}

func signature(secret, id, at string, body []byte) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// secret sets the secrets that must sign.
func (r *receiver) secret(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// answers sets the receiver's behavior; nil: it accepts everything.
func (r *receiver) answers(answer func(http.ResponseWriter, *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// refuses answers with a status.
func (r *receiver) refuses(status int) {
	r.answers(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return false })
}

// got lists the ids of the accepted messages, and the number of attempts.
func (r *receiver) got() (messages []message, tries int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken), r.tries
}

func (r *receiver) ids() (ids []string) {
	messages, _ := r.got()
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// wantCode checks why a webhook fails, or is paused.
func wantCode(t *testing.T, w hooks.Webhook, reason, last fault.Code) {
	t.Helper()
	if w.Reason != string(reason) || w.LastError != last {
		t.Errorf("the reason is %q with the error %q, want %q and %q", w.Reason, w.LastError, reason, last)
	}
}
