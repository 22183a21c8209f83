package bot

import (
	"maps"
	"sync"
	"time"
)

// calmMost bounds the chats that a calm remembers.
const calmMost = 10_000

// calm lets something happen once in a pause for each chat.
type calm struct {
	pause time.Duration

	mu   sync.Mutex
	last map[int64]time.Time
}

func newCalm(pause time.Duration) *calm { return &calm{pause: pause, last: map[int64]time.Time{}} }

// take says whether it may happen now. While the most chats are remembered that may be, it happens for no other.
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
