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
	// mostWaiting bounds the callers of a process who wait: each holds memory and a connection.
	mostWaiting = 2000

	lookEvery  = 5 * time.Second // of a caller whom nothing wakes
	lookSpread = 2 * time.Second // so that callers who came together do not look together

	// mostPasses bounds what one ready task costs: so many callers look for it at most.
	mostPasses = 10
)

// Line has the callers of this process who wait for a task, in the order in which they came. For each task that becomes
// ready one of them looks at once, and the next one if that one finds nothing for itself; all look from time to time. A
// nil Line lets nobody wait.
type Line struct {
	perUser   int
	onWaiting func(n int)
	stopped   context.Context
	stop      context.CancelFunc

	mu      sync.Mutex
	callers []*Caller // the first one first
}

// NewLine makes a line. perUser limits the callers of one user who is no administrator; 0: no limit. onWaiting gets the
// number of callers whenever it changes, and must not block; it may be nil.
func NewLine(perUser int, onWaiting func(n int)) *Line {
	stopped, stop := context.WithCancel(context.Background())
	return &Line{perUser: perUser, onWaiting: onWaiting, stopped: stopped, stop: stop}
}

// Caller is one caller who waits, or looks for a task.
type Caller struct {
	userID int64
	woken  chan int // holds one value when there is a reason to look: how often that may be passed on
	passes int      // of the present look
}

// Join adds a caller. QUOTA_EXCEEDED: the user has too many who wait; RATE_LIMITED: the process has. The caller must
// call Leave.
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
		if c.userID == user.ID {
			already++
		}
	}
	if l.perUser > 0 && already >= l.perUser && !user.IsAdmin() {
		return nil, fault.New(
			fault.QuotaExceeded, "the limit of %d waiting claims is reached", l.perUser,
		).With("limit", "waiting claims").With("maximum", l.perUser)
	}

	c := &Caller{userID: user.ID, woken: make(chan int, 1)}
	l.callers = append(l.callers, c)
	l.count()
	return c, nil
}

// Rest lets a caller who has found nothing wait until the next look. It returns false when the caller has waited enough
// or has gone, or when the process stops.
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

// Leave removes a caller. One who has got a task wakes the next one, because there may be more of them; one who has not
// passes on what it was woken for.
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

// count reports how many wait. The lock must be held.
func (l *Line) count() {
	if l.onWaiting != nil {
		l.onWaiting(len(l.callers))
	}
}

// passOn wakes the first caller behind this one who has no reason to look yet.
func (l *Line) passOn(c *Caller, passes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(l.callers[slices.Index(l.callers, c)+1:], 1, passes)
}

// wake wakes the first n callers of some who have no reason to look yet. The lock must be held.
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

// Hear takes events of the record and wakes a caller for each task that they have made ready, or may have. It does not
// block.
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

// Stop lets nobody wait any more: the process stops.
func (l *Line) Stop() { l.stop() }
