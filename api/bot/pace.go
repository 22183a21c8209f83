package bot

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// unaskedRequests is how many requests a second live messages and notifications make over all chats. Telegram allows a
	// bot about 30; the rest is for people who wait for an answer.
	unaskedRequests = 25

	// longFlood is the shortest retry-after that applies to all chats of the bot.
	longFlood = 20 * time.Second
)

// pace keeps live messages and notifications within Telegram's limits: a total rate of requests, a pause in each chat,
// and silence when Telegram asks for it.
type pace struct {
	limiter *rate.Limiter
	inChat  time.Duration // between two messages to one chat

	mu      sync.Mutex
	silence time.Time           // nothing is sent before then
	turns   map[int64]time.Time // each chat's next turn; there are no more chats than users
}

func newPace(editEvery time.Duration) *pace {
	return &pace{
		limiter: rate.NewLimiter(unaskedRequests, 1),
		inChat:  min(time.Second, editEvery/3),
		turns:   map[int64]time.Time{},
	}
}

// hold stops all live messages and notifications for a wait that applies to all chats.
func (p *pace) hold(wait time.Duration) {
	if wait < longFlood {
		return
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	if until := time.Now().Add(wait); until.After(p.silence) {
		p.silence = until
	}
}

// silent reports whether all live messages and notifications must wait.
func (p *pace) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.silence)
}

// turn takes the chat's turn, if it has come.
func (p *pace) turn(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	if now.Before(p.turns[chat]) {
		return false
	}
	p.turns[chat] = now.Add(p.inChat)
	return true
}
