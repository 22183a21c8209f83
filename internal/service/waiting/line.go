package waiting

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

const (
	// mostWaiting limits the callers waiting in one process: each holds memory and a connection.
	mostWaiting = 2000

	lookEvery  = 5 * time.Second // polling interval of a caller that is not woken
	lookSpread = 2 * time.Second // jitter: callers that came together do not poll together

	// mostPasses limits the cost of one ready task: at most this many callers check for it.
	mostPasses = 10
)

// Line holds this process's callers that wait for a task, in order of arrival. For each task that becomes ready one
// caller checks at once, and the next if that one finds nothing; all of them poll from time to time. With a nil Line no
// caller waits.
type Line struct {
	perPerson int
	onWaiting func(n int)
	stopped   context.Context
	stop      context.CancelFunc

	mu      sync.Mutex
	callers []*Caller // in order of arrival
}

// NewLine makes a line. perPerson limits the callers of a person and their agents together, administrators excepted; 0:
// no limit. onWaiting receives the number of callers whenever it changes and must not block; it may be nil.
func NewLine(perPerson int, onWaiting func(n int)) *Line {
	stopped, stop := context.WithCancel(context.Background())
	return &Line{perPerson: perPerson, onWaiting: onWaiting, stopped: stopped, stop: stop}
}

// Caller is one caller that waits or checks for a task.
type Caller struct {
	user   account.User
	woken  chan int // holds a value if there is a reason to check: how often that may be passed on
	passes int      // of the current check
}

// Join adds a caller. QUOTA_EXCEEDED: the user's person has too many waiting callers; RATE_LIMITED: the process has.
// The caller must call Leave.
func (l *Line) Join(user account.User) (*Caller, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if len(l.callers) >= mostWaiting {
		return nil, fault.New(
			fault.RateLimited, "as many wait for a task as this process takes: ask again later, or without waiting",
		).After(lookEvery)
	}

	already := 0
	for _, c := range l.callers {
		if c.user.PersonID() == user.PersonID() && !c.user.IsAdmin() {
			already++
		}
	}
	if l.perPerson > 0 && already >= l.perPerson && !user.IsAdmin() {
		return nil, fault.New(
			fault.QuotaExceeded, "the limit of %d waiting claims is reached", l.perPerson,
		).With("limit", "waiting claims").With("maximum", l.perPerson)
	}

	c := &Caller{user: user, woken: make(chan int, 1)}
	l.callers = append(l.callers, c)
	l.count()
	return c, nil
}

// Rest blocks a caller that found nothing until its next check. It returns false if the caller has waited long enough
// or is gone, or if the process is stopping.
func (l *Line) Rest(ctx context.Context, c *Caller, enough <-chan time.Time) (looks bool) {
	if c.passes > 0 {
		l.passOn(c, c.passes-1)
		c.passes = 0
	}

	again := time.NewTimer(lookEvery - lookSpread/2 + rand.N(lookSpread))
	defer again.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-enough:
		return false
	case <-l.stopped.Done():
		return false
	case c.passes = <-c.woken:
		return true
	case <-again.C:
		return true
	}
}

// Leave removes a caller. One that got a task wakes the next, because there may be more; one that did not passes on its
// wake-up.
func (l *Line) Leave(c *Caller, got bool) {
	passes := 0
	select {
	case passes = <-c.woken:
	default:
	}
	if got {
		l.passOn(c, max(passes, 1))
	} else {
		l.passOn(c, max(passes, c.passes))
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers = slices.DeleteFunc(l.callers, func(other *Caller) bool { return other == c })
	l.count()
}

// count reports the number of waiting callers. The lock must be held.
func (l *Line) count() {
	if l.onWaiting != nil {
		l.onWaiting(len(l.callers))
	}
}

// passOn wakes the first caller behind this one that has no reason to check yet.
func (l *Line) passOn(c *Caller, passes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(l.callers[slices.Index(l.callers, c)+1:], 1, passes)
}

// wake wakes the first n of the given callers that have no reason to check yet. The lock must be held.
func (l *Line) wake(callers []*Caller, n, passes int) {
	for _, c := range callers {
		if n == 0 || passes == 0 {
			return
		}
		select {
		case c.woken <- passes:
			n--
		default:
		}
	}
}

// Hear takes events of the record and wakes a caller for each task that may have become ready. It does not block.
func (l *Line) Hear(events []core.StreamedEvent) {
	ready := 0
	for _, e := range events {
		if e.Workload != lifecycle.WorkloadTask {
			continue
		}
		switch {
		case e.To == string(lifecycle.TaskNew), e.To == string(lifecycle.TaskDone), e.Type == lifecycle.TaskEdited:
			ready++
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(l.callers, ready, mostPasses)
}

// Stop ends all waiting: the process is stopping.
func (l *Line) Stop() { l.stop() }
