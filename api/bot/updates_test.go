package bot

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

func message(id int, person int64, words string) telego.Update {
	return telego.Update{UpdateID: id, Message: &telego.Message{
		From: &telego.User{ID: person, LanguageCode: "en"}, Chat: telego.Chat{ID: person, Type: telego.ChatTypePrivate},
		Text: words,
	}}
}

func pressOf(id int, person int64, data string, on int64) telego.Update {
	return telego.Update{UpdateID: id, CallbackQuery: &telego.CallbackQuery{
		ID: number64(int64(id)), From: telego.User{ID: person, LanguageCode: "en"}, Data: data,
		Message: &telego.Message{MessageID: int(on), Chat: telego.Chat{ID: person, Type: telego.ChatTypePrivate}},
	}}
}

func TestUpdatesThatComeAgainHaveNoSecondEffect(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.catalog.add(t, "/a.txt", 10)
	stop := w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "a.txt")
	card := w.sees(anna, "Download")
	stop()

	updates := []telego.Update{
		message(100_000_010, anna, "/help"),
		message(100_000_011, anna, "/files"),
		{UpdateID: 100_000_012, CallbackQuery: &telego.CallbackQuery{
			ID: "1", From: telego.User{ID: anna, LanguageCode: "en"}, Data: findButton(card, "d:"),
			Message: &telego.Message{MessageID: int(card.MessageID), Chat: telego.Chat{ID: anna, Type: telego.ChatTypePrivate}},
		}},
		message(100_000_013, boss, "/help"), // the boss has not written before: there is nobody to answer
	}

	for range 2 { // the process crashed between handling and moving the offset, and another one started
		w.handles(w.bot(), updates...)
	}

	if jobs := w.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs", len(jobs))
	}

	count := map[string]int{}
	for _, m := range w.messages(anna) {
		switch {
		case strings.Contains(m.Text, "I send files"):
			count["help"]++
		case strings.Contains(m.Text, "Files"):
			count["menu"]++
		case strings.Contains(m.Text, "a.txt"):
			count["card"]++
		}
	}

	if count["help"] != 1 || count["menu"]+count["card"] != 2 { // the previous menu stays
		t.Errorf("messages: %v", count)
	}
	if next, _ := w.store.Notices.NextUpdate(t.Context()); next != 100_000_014 {
		t.Errorf("the next update is %d", next)
	}

	// After a quiet week Telegram restarts its numbering, perhaps lower.
	w.handles(w.bot(), message(5, anna, "/help"))
	if next, _ := w.store.Notices.NextUpdate(t.Context()); next != 6 {
		t.Errorf("the next update is %d", next)
	}

	helps := 0
	for _, m := range w.messages(anna) {
		if strings.Contains(m.Text, "I send files") {
			helps++
		}
	}

	if helps != 2 {
		t.Errorf("an update of a new numbering was taken for an old one: %d", helps)
	}
}

func TestNoClickIsLostWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.catalog.add(t, "/a.txt", 10)
	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "a.txt")
	w.sees(anna, "Download")
	w.wire.Cut()
	w.presses(anna, "d:")
	w.writes(boss, "en", "/start")
	time.Sleep(time.Second)
	w.wire.Mend()
	w.notes(anna, "Delivery #1 has started")
	w.sees(boss, "Choose a file")
	w.sees(anna, "#1 <b>a.txt</b>")
	if jobs := w.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs", len(jobs))
	}
}

func TestPollingGoesOnAfterTrouble(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, kind := range []string{"409", "500", "html_502", "lost_answer"} {
		w.telegram.AddFault(sim.Fault{Match: "getUpdates", Kind: kind, Times: 1})
	}

	b := w.bot()
	w.run(b)
	w.writes(anna, "en", "/start")
	w.sees(anna, "Choose a file")
	if n := len(w.messages(anna)); n != 1 {
		t.Errorf("%d answers", n)
	}
}

func TestAnswersSurviveShortTrouble(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "429", RetryAfter: 1, Times: 1})
	w.telegram.AddFault(sim.Fault{Match: "editMessageText", Kind: "lost_answer", Times: 1})
	w.catalog.add(t, "/a/b.txt", 10)
	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "📁 a")
	w.sees(anna, "b.txt")
	if n := len(w.messages(anna)); n != 1 {
		t.Errorf("%d menus", n)
	}
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.catalog.panic = true
	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.sees(anna, "Internal error")
	w.writes(anna, "en", "/jobs")
	w.sees(anna, "Your deliveries")
	if log := w.log.String(); !strings.Contains(log, "the catalog failed") || !strings.Contains(log, "FolderByID") {
		t.Error("the panic is not in the log:", log)
	}
}

func TestOneBotPollsAndTheOtherTakesOver(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var mu sync.Mutex
	serving := 0
	hold := func(ctx context.Context) error {
		mu.Lock()
		serving++
		mu.Unlock()
		<-ctx.Done()
		return nil
	}

	first, leave := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		_, _ = w.store.Notices.OnlyBot(first, hold)
	}()

	w.eventually("a holder", func() bool { mu.Lock(); defer mu.Unlock(); return serving == 1 })

	w.run(w.bot())
	w.writes(anna, "en", "/start")
	time.Sleep(300 * time.Millisecond)
	for _, r := range w.telegram.Requests() {
		if strings.HasSuffix(r.Path, "getUpdates") {
			t.Fatal("two bots poll")
		}
	}

	leave()
	<-held
	w.sees(anna, "Choose a file")
}

func TestTwoBotsAnswerOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	stops := []func(){w.run(w.bot()), w.run(w.bot())}
	w.writes(anna, "en", "/help")
	w.sees(anna, "I send files")
	for _, stop := range stops {
		stop()
		w.writes(anna, "en", "/help")
	}

	w.run(w.bot())
	w.eventually("three answers", func() bool { return len(w.messages(anna)) == 3 })
	// A poll that a stopped bot has left may get a conflict as well, which nobody sees.
	if log := w.log.String(); strings.Contains(log, "Conflict") {
		t.Error("two bots polled at a time:", log)
	}
}

func TestALostLockEndsTheService(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	holds, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.store.Notices.OnlyBot(t.Context(), func(ctx context.Context) error {
			close(holds)
			<-ctx.Done()
			return ctx.Err()
		})
	}()

	<-holds
	w.wire.Cut()
	select {
	case <-ended:
	case <-time.After(wait.Patience):
		t.Error("the service goes on although another process may have the lock")
	}
}

func TestACommandIsTheSameWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.catalog.fail(fault.New(fault.StoreUnavailable, "away").Retry())
	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.writes(anna, "en", "/help")
	w.user(anna)
	time.Sleep(500 * time.Millisecond)
	if n := len(w.messages(anna)); n != 0 {
		t.Errorf("%d messages overtook the command", n)
	}

	w.catalog.fail(nil)
	w.sees(anna, "📁 <b>Files")
	w.sees(anna, "I send files")
}
