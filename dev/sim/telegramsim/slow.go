package telegramsim

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"stagecoach/dev/sim"
)

// slowed is how often the bot may write to a chat.
type slowed struct {
	every time.Duration
	next  time.Time // before then, calls for the chat are refused
}

// SlowDown allows the bot one call per interval to a chat, as Telegram does for a bot that writes to one chat too
// often; 0: unlimited. Further calls get 429 and the seconds to wait.
func (t *Server) SlowDown(chat int64, every time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slowed == nil {
		t.slowed = map[int64]*slowed{}
	}
	t.slowed[chat] = &slowed{every: every}
}

// admit refuses a call for a throttled chat.
func (t *Server) admit(c *call) error {
	chat, err := strconv.ParseInt(c.params["chat_id"], 10, 64)
	if err != nil {
		return nil // without a chat
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	slow, now := t.slowed[chat], time.Now()
	switch {
	case slow == nil:
		return nil
	case now.Before(slow.next):
		wait := int(math.Ceil(slow.next.Sub(now).Seconds()))
		return &sim.Problem{Status: http.StatusTooManyRequests, RetryAfter: wait}
	}
	slow.next = now.Add(slow.every)
	return nil
}
