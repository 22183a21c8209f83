package bot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/allowance"
	"stagecoach/internal/store/notice"
)

// throttles makes Telegram refuse messages to a chat until its faults are cleared.
func (w *rig) throttles(person int64, retryAfter int) {
	w.telegram.AddFault(sim.Fault{Match: fmt.Sprintf("sendMessage chat=%d;", person), Kind: "429", RetryAfter: retryAfter})
}

// refusals counts the messages to a chat that Telegram has refused.
func (w *rig) refusals(person int64) (n int) {
	for _, r := range w.telegram.Requests() {
		if r.Fault == "429" && r.Call == fmt.Sprintf("chat=%d;", person) {
			n++
		}
	}
	return n
}

// TestChatsDoNotWaitForThrottledOnes has one person write seven times, and more people than are handled concurrently
// write once, while Telegram refuses messages to each of them. A bystander, who writes later, is answered meanwhile.
func TestChatsDoNotWaitForThrottledOnes(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.throttles(anna, 5)
	for range 7 {
		w.writes(anna, "en", "/help")
	}

	var others []int64
	for i := range chatsAtOnce + 2 {
		others = append(others, int64(4000+i))
	}
	for _, person := range others {
		w.throttles(person, 5)
		w.writes(person, "en", "/help")
	}
	w.eventually("everybody waits", func() bool {
		return !slices.ContainsFunc(append(others, anna), func(person int64) bool { return w.refusals(person) == 0 })
	})

	w.writes(boris, "en", "/help")
	w.sees(boris, "I send files")
	if n := len(w.messages(anna)); n != 0 {
		t.Errorf("the throttled chat has %d answers already: it did not wait", n)
	}

	w.telegram.ClearFaults()
	w.writes(anna, "en", "/jobs")
	w.sees(anna, "Your deliveries")
}

// TestAFloodDelaysNobody has a throttled person write more than one getUpdates batch: a bystander is answered
// meanwhile, and refused updates are counted.
func TestAFloodDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var mu sync.Mutex
	refused := map[string]int{}
	w.options.OnRefused = func(limit string) {
		mu.Lock()
		defer mu.Unlock()
		refused[limit]++
	}

	w.throttles(anna, 5)
	for range 2 * mostUpdates {
		w.writes(anna, "en", "/help")
	}
	w.writes(boris, "en", "/help")
	w.run(w.bot())
	w.sees(boris, "I send files")
	if n := len(w.waiting()); n == 0 {
		t.Error("the bystander has waited for the flood")
	}

	w.telegram.ClearFaults()
	w.eventually("all are handled", func() bool { return len(w.waiting()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if refused[allowance.LimitChatLine] < mostUpdates {
		t.Errorf("counted as refused: %v", refused)
	}
}

// TestAnAdministratorsThrottleDelaysNoNewcomer makes Telegram refuse messages to the administrator who is notified of a
// newcomer. The newcomer is answered before the bot gives up.
func TestAnAdministratorsThrottleDelaysNoNewcomer(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.ActivateAtOnce = false
	w.run(w.bot())
	w.writes(boss, "en", "/start")
	w.sees(boss, "Choose a file")

	w.telegram.AddFault(sim.Fault{
		Match: fmt.Sprintf("sendMessage chat=%d;", boss), Kind: "429", RetryAfter: 4, Times: 2,
	})
	w.writes(anna, "en", "/start")
	w.sees(anna, "will review your request")
	w.sees(boss, "asks for access")
	var sent []string
	for _, r := range w.telegram.Requests() {
		if strings.HasSuffix(r.Path, "/sendMessage") && r.Status == http.StatusOK {
			sent = append(sent, r.Call)
		}
	}
	if want := []string{fmt.Sprintf("chat=%d;", anna), fmt.Sprintf("chat=%d;", boss)}; len(sent) != 3 || !slices.Equal(sent[1:], want) {
		t.Errorf("the newcomer waited for the administrator: messages reached %q", sent)
	}
}

// waiting are the updates in the inbox.
func (w *rig) waiting() []notice.Update {
	w.t.Helper()
	waiting, err := w.store.Notices.WaitingUpdates(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return waiting
}

// held is an intake whose handler blocks until a chat is released.
type held struct {
	*intake
	mu      sync.Mutex
	chats   map[int64]chan struct{}
	handled []int
	slowed  []int64
	refusal int
}

func (w *rig) held(chats ...int64) *held {
	h := &held{chats: map[int64]chan struct{}{}}
	for _, id := range chats {
		h.chats[id] = make(chan struct{})
	}

	h.intake = newIntake(w.t.Context(), w.bot())
	h.handle = func(ctx context.Context, next chat.Incoming) error {
		if gate := h.chats[next.Chat]; gate != nil {
			chat.PlaceOf(ctx).Yield(func() { <-gate })
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.handled = append(h.handled, int(next.Update))
		return nil
	}
	h.slowDown = func(_ context.Context, in chat.Incoming) { h.slowed = append(h.slowed, in.Chat) }
	h.refused = func() { h.refusal++ }
	return h
}

// shown waits until an update was handled.
func (h *held) shown(t *testing.T, id int) {
	t.Helper()
	wait.Eventually(t, fmt.Sprintf("update %d is handled", id), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Contains(h.handled, id)
	})
}

// inboxIs fails the test unless the inbox has exactly these updates, in this order.
func (w *rig) inboxIs(want ...int64) {
	w.t.Helper()
	var got []int64
	for _, update := range w.waiting() {
		got = append(got, update.ID)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("the inbox has %v, want %v", got, want)
	}
}

// TestTheInboxKeepsWhatIsNotHandled while the next updates are fetched, and hands it to the next process after a crash.
func TestTheInboxKeepsWhatIsNotHandled(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	h := w.held(anna)
	w.must(h.take(t.Context(), []telego.Update{message(1, boris, "a"), message(2, anna, "b"), message(3, anna, "c")}))
	h.shown(t, 1)
	w.must(h.take(t.Context(), []telego.Update{message(4, boris, "d")}))
	h.shown(t, 4)
	w.eventually("what is handled has left", func() bool { return len(w.waiting()) == 2 })
	w.inboxIs(2, 3)
	if next, err := w.store.Notices.NextUpdate(t.Context()); err != nil || next != 5 {
		t.Errorf("the next update is %d, %v", next, err)
	}

	after := w.held() // the process after a crash
	for range 2 {
		w.must(after.resume(t.Context()))
	}
	after.running.Wait()
	if !slices.Equal(after.handled, []int{2, 3}) {
		t.Errorf("handled %v", after.handled)
	}
	w.inboxIs()
	close(h.chats[anna])
	h.running.Wait()
}

// TestWhatWasStoredAfterAllIsHandled loses the database's answer to the write of a batch: Telegram does not deliver it
// again.
func TestWhatWasStoredAfterAllIsHandled(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	h := w.held()
	h.inbox = lostAnswer{h.inbox}
	if err := h.take(t.Context(), []telego.Update{message(1, anna, "a")}); err == nil {
		t.Fatal("the answer is not lost")
	}
	w.must(h.resume(t.Context()))
	h.running.Wait()
	if !slices.Equal(h.handled, []int{1}) {
		t.Errorf("handled %v", h.handled)
	}
}

// lostAnswer is an inbox whose writes succeed and seem to have failed.
type lostAnswer struct{ inbox }

func (l lostAnswer) ReceiveUpdates(ctx context.Context, last int64, updates []notice.Update) error {
	return errors.Join(l.inbox.ReceiveUpdates(ctx, last, updates), errors.New("connection reset"))
}

// TestLinesAreBounded refuses updates that do not fit into a line, and notifies the person once.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	h := w.held(anna)
	var flood []telego.Update
	for i := range 3 * lineLength {
		flood = append(flood, message(i+1, anna, "x"))
	}
	w.must(h.take(t.Context(), append(flood, message(100, boris, "y"))))
	h.shown(t, 100)
	w.eventually("the bystander's has left", func() bool { return len(w.waiting()) == lineLength })
	close(h.chats[anna])
	h.running.Wait()

	if len(h.handled) != lineLength+1 || h.refusal != 2*lineLength || !slices.Equal(h.slowed, []int64{anna}) {
		t.Errorf("handled %v, refused %d, told %v", h.handled, h.refusal, h.slowed)
	}
	w.inboxIs()
	if len(h.lines) != 0 || len(h.intake.waiting) != 0 || len(h.places) != 0 {
		t.Errorf("%d lines, %d updates and %d places of nobody", len(h.lines), len(h.intake.waiting), len(h.places))
	}
}

// TestNothingIsLostWhenTheProcessStops stops it while an update is handled: another process gets this update and all
// after it, and repeats only what was not recorded as handled.
func TestNothingIsLostWhenTheProcessStops(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.throttles(anna, 5)
	stop := w.run(w.bot())
	w.writes(anna, "en", "/help")
	w.eventually("a refusal", func() bool { return w.refusals(anna) > 0 })
	w.writes(anna, "en", "/jobs")
	w.writes(boris, "en", "/help")
	w.sees(boris, "I send files")
	stop()

	w.telegram.ClearFaults()
	w.run(w.bot())
	w.sees(anna, "Your deliveries")
	w.writes(boris, "en", "/jobs")
	w.sees(boris, "Your deliveries")
	if n := len(w.messages(boris)); n != 2 {
		t.Errorf("%d answers to two messages", n)
	}
}

// TestGroupsAreLeft answers once, however often the bot is added to the group again. The operator's own group is not
// left.
func TestGroupsAreLeft(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const group, own = int64(-500), int64(-600)
	w.options.CacheChat = own
	b := w.bot()

	for i := range 6 {
		update := message(i+1, anna, "/files")
		update.Message.Chat = telego.Chat{ID: []int64{group, own}[i%2], Type: telego.ChatTypeSupergroup}
		w.handles(b, update)
	}

	for _, id := range []int64{group, own} {
		if m := w.messages(id); len(m) != 1 || !strings.Contains(m[0].Text, "private chats only") {
			t.Errorf("in the group %d: %+v", id, m)
		}
	}

	left := map[string]int{}
	for _, r := range w.telegram.Requests() {
		if strings.HasSuffix(r.Path, "leaveChat") {
			left[r.Call]++
		}
	}
	if len(left) != 1 || left["chat=-500;"] != 1 {
		t.Errorf("left %v", left)
	}
}

// TestCalmForgets keeps its memory bounded.
func TestCalmForgets(t *testing.T) {
	t.Parallel()
	c := newCalm(time.Hour)
	for i := range int64(calmMost) {
		if !c.take(i) || c.take(i) {
			t.Fatalf("chat %d", i)
		}
	}
	if c.take(calmMost) || len(c.last) != calmMost {
		t.Errorf("%d chats are remembered", len(c.last))
	}

	c.last[0] = time.Now().Add(-time.Hour)
	if !c.take(calmMost) || c.take(0) || len(c.last) != calmMost {
		t.Errorf("%d chats are remembered after a pause", len(c.last))
	}
}
