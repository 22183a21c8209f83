package bot

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/dev/sim"
	"stagecoach/internal/allowance"
)

// throttles lets Telegram refuse messages to a chat until its faults are cleared.
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

// TestChatsDoNotWaitForThrottledOnes lets one person write seven times, and more people than are handled at a time write
// once, while Telegram refuses messages to each of them. A bystander, whose words come later, is answered meanwhile.
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

// TestAFloodDoesNotFillTheWindow lets a throttled person write more than Telegram shows at a time: the updates of a
// bystander come into view, the person is told once to slow down, and what was refused is counted.
func TestAFloodDoesNotFillTheWindow(t *testing.T) {
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
	for range 2 * window {
		w.writes(anna, "en", "/help")
	}
	w.writes(boris, "en", "/help")
	w.run(w.bot())
	w.sees(boris, "I send files")
	w.telegram.ClearFaults()

	w.eventually("all are handled", func() bool {
		next, err := w.store.Notices.NextUpdate(t.Context())
		return err == nil && next > 100_000_000+2*window // where the stand-in begins
	})
	mu.Lock()
	defer mu.Unlock()
	if refused[allowance.LimitChatLine] < window {
		t.Errorf("counted as refused: %v", refused)
	}
}

// TestAnAdministratorsThrottleDelaysNoNewcomer lets Telegram refuse messages to the administrator who is told of a
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

// held is an intake whose handler waits until a chat is let go.
type held struct {
	*intake
	mu      sync.Mutex
	chats   map[int64]chan struct{}
	handled []int
	slowed  []int64
	refusal int
}

func newHeld(t *testing.T, chats ...int64) *held {
	h := &held{chats: map[int64]chan struct{}{}}
	for _, id := range chats {
		h.chats[id] = make(chan struct{})
	}

	h.intake = newIntake(t.Context(), &Bot{Sender: &chat.Sender{Log: slog.New(slog.DiscardHandler)}})
	h.handle = func(ctx context.Context, next telego.Update) error {
		if gate := h.chats[next.Message.Chat.ID]; gate != nil {
			chat.PlaceOf(ctx).Yield(func() { <-gate })
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.handled = append(h.handled, next.UpdateID)
		return nil
	}
	h.slowDown = func(_ context.Context, in chat.Incoming) { h.slowed = append(h.slowed, in.Chat) }
	h.refused = func() { h.refusal++ }
	return h
}

// shown waits until an update was handled.
func (h *held) shown(t *testing.T, id int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		there := slices.Contains(h.handled, id)
		h.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("update %d is not handled", id)
		}
	}
}

// TestTheOffsetStaysBeforeWhatIsNotHandled because Telegram forgets all before it.
func TestTheOffsetStaysBeforeWhatIsNotHandled(t *testing.T) {
	t.Parallel()
	h := newHeld(t, anna)
	first := []telego.Update{message(1, boris, "a"), message(2, anna, "b"), message(3, boris, "c")}
	h.take(first)
	h.shown(t, 3)
	h.await(t.Context())
	if last, some := h.last(); !some || last != 1 {
		t.Errorf("handled up to %d, %v; want 1", last, some)
	}

	// The next batch begins after what is recorded, and shows the others again.
	h.take(append(first[1:], message(4, boris, "d")))
	h.shown(t, 4)
	if last, some := h.last(); some {
		t.Errorf("handled up to %d, although the first one is not", last)
	}

	close(h.chats[anna])
	h.running.Wait()
	if last, some := h.last(); !some || last != 4 {
		t.Errorf("handled up to %d, %v; want 4", last, some)
	}
	if slices.Sort(h.handled); !slices.Equal(h.handled, []int{1, 2, 3, 4}) {
		t.Errorf("handled %v", h.handled)
	}
}

// TestLinesAreBounded refuses what does not fit into a line, and lets a person hear of it once.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHeld(t, anna)
	var flood []telego.Update
	for i := range 3 * lineLength {
		flood = append(flood, message(i+1, anna, "x"))
	}
	h.take(append(flood, message(100, boris, "y")))
	h.take(append(flood, message(100, boris, "y"))) // again, as Telegram shows them
	h.shown(t, 100)
	close(h.chats[anna])
	h.running.Wait()

	if len(h.handled) != lineLength+1 || h.refusal != 2*lineLength || !slices.Equal(h.slowed, []int64{anna}) {
		t.Errorf("handled %v, refused %d, told %v", h.handled, h.refusal, h.slowed)
	}
	if last, _ := h.last(); last != 100 {
		t.Errorf("handled up to %d: what was refused counts as handled", last)
	}
	if len(h.lines) != 0 {
		t.Errorf("%d lines of nobody", len(h.lines))
	}
}

// TestNothingIsLostWhenTheProcessStops stops it while an update is handled: another process gets this one and all after
// it, and handles again only what is not remembered.
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

// TestGroupsAreLeft answers once, however often the bot is put into the group again. The operator's own is not left.
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
