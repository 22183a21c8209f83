package bot

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// liveMessageRequests is how many requests a second the boards make over all chats. Telegram lets a bot make about 30;
// the rest is for people who wait for an answer.
const liveMessageRequests = 25

// pace keeps the boards within what Telegram allows: so many requests a second in all, a pause in each chat, and
// silence when it is asked for.
type pace struct {
	limiter *rate.Limiter
	inChat  time.Duration // between two messages about live entities in one chat

	mu      sync.Mutex
	silence time.Time           // nothing is sent before
	turns   map[int64]time.Time // the chat's next turn; there are no more chats than users
}

func newPace(editEvery time.Duration) *pace {
	return &pace{
		limiter: rate.NewLimiter(liveMessageRequests, 1),
		inChat:  min(time.Second, editEvery/3),
		turns:   map[int64]time.Time{},
	}
}

// beSilent stops all boards for a while.
func (p *pace) beSilent(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(wait); until.After(p.silence) {
		p.silence = until
	}
}

// silent says whether all boards must wait.
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
