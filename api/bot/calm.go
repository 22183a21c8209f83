package bot

import (
	"maps"
	"sync"
	"time"
)

// calmMost bounds the number of chats that a calm remembers.
const calmMost = 10_000

// calm is a rate limit of one event per pause and chat.
type calm struct {
	pause time.Duration

	mu   sync.Mutex
	last map[int64]time.Time
}

func newCalm(pause time.Duration) *calm { return &calm{pause: pause, last: map[int64]time.Time{}} }

// take reports whether the event may happen now. Once calmMost chats are remembered, it refuses all others.
func (c *calm) take(chat int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := time.Now()
	over := func(_ int64, last time.Time) bool { return now.Sub(last) >= c.pause }
	if last, known := c.last[chat]; known && !over(chat, last) {
		return false
	}

	if len(c.last) >= calmMost {
		maps.DeleteFunc(c.last, over)
	}
	if len(c.last) >= calmMost {
		return false
	}
	c.last[chat] = now
	return true
}
