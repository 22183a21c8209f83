// Package waiting has the callers of a process who wait for their turn: for an update of a task, or for a task that is
// ready.
package waiting

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

const (
	offerTime  = 10 * time.Second       // that PostgreSQL may take to say which tasks are ready
	offerPause = 250 * time.Millisecond // after it did not
)

// Store holds the method of the record that a queue calls.
type Store interface {
	ReadyAmong(ctx context.Context, changed, blockers, users []int64) ([]task.Ready, error)
}

// Options configure a Queue.
type Options struct {
	Store   Store
	Log     *slog.Logger
	PerUser int // waiters of one user who is no administrator; 0: no limit
	InAll   int // 0: no limit
	// OnWaiting, when set, gets the number of waiters whenever it changes. It must not block.
	OnWaiting func(n int)
}

// Queue has the callers of this process that wait for a task. One waiter is woken for each task that becomes ready:
// the first one whose wish it fits. A waiter that did not take the task it was woken for passes the offer on, so that
// none is lost.
//
// A waiter is woken by offers alone: of tasks that an event has made ready, and of tasks that another caller of this
// process has let go. A nil Queue has no waiters.
type Queue struct {
	o       Options
	mu      sync.Mutex
	queue   []*Waiter // the first one first
	byUser  map[int64]int
	stopped bool

	changed, blockers []int64 // tasks of which it is not known yet whether they are ready
	asking            bool    // a goroutine asks the record for them
}

// New makes a queue.
func New(o Options) *Queue {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Queue{o: o, byUser: map[int64]int{}}
}

// Waiter is one caller who waits, or looks for a task.
type Waiter struct {
	userID int64
	wish   task.Wish
	woken  chan struct{} // holds one when there is a reason to look

	looks   bool     // now; else it rests
	anew    bool     // it may have missed events, and looks again
	offers  []*offer // that it was woken for, or that came while it looked
	covered int      // of these, the ones that came before the present look
}

// offer is a ready task on its way from one waiter to the next.
type offer struct {
	task.Ready
	had map[*Waiter]bool
}

// Join adds a caller, who looks for a task now. QUOTA_EXCEEDED: the user has too many who wait; RATE_LIMITED: the
// process has. The caller must call Leave.
func (q *Queue) Join(user account.User, wish task.Wish) (*Waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	switch {
	case q.o.PerUser > 0 && q.byUser[user.ID] >= q.o.PerUser && !user.IsAdmin():
		return nil, fault.New(
			fault.QuotaExceeded, "the limit of %d waiting claims is reached", q.o.PerUser,
		).With("limit", "waiting claims").With("maximum", q.o.PerUser)
	case q.o.InAll > 0 && len(q.queue) >= q.o.InAll:
		return nil, fault.New(
			fault.RateLimited, "as many wait for a task as this process takes: ask again later, or without waiting",
		).After(offerTime)
	}

	q.byUser[user.ID]++
	w := &Waiter{userID: user.ID, wish: wish, woken: make(chan struct{}, 1), looks: true}
	q.queue = append(q.queue, w)
	q.count()
	return w, nil
}

// Rest lets a waiter that has found nothing wait until it is woken. It returns false when the caller has waited enough
// or has gone, or when the process stops.
func (q *Queue) Rest(ctx context.Context, w *Waiter, enough <-chan time.Time) (looks bool) {
	if looks, stopped := q.endLook(w); looks || stopped {
		return looks
	}

	select {
	case <-ctx.Done():
		return false
	case <-enough:
		return false
	case <-w.woken:
		return q.begin(w)
	}
}

// endLook ends a look without a task: what it has covered is passed on. The waiter looks again when something came
// meanwhile.
func (q *Queue) endLook(w *Waiter) (again, stopped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	covered := w.offers[:w.covered]
	w.offers = slices.Clone(w.offers[w.covered:])
	again = w.anew || len(w.offers) > 0
	w.look(again)
	for _, o := range covered {
		q.give(o)
	}

	return again && !q.stopped, q.stopped
}

// begin begins the look of a woken waiter, unless the process stops.
func (q *Queue) begin(w *Waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.look(true)
	return !q.stopped
}

// look notes that the waiter begins a look, which covers the offers so far, or that it rests. The lock must be held.
func (w *Waiter) look(begins bool) {
	w.looks, w.anew, w.covered = begins, false, len(w.offers)
}

// Leave removes a waiter. The offers of other tasks than the one it has got are passed on.
func (q *Queue) Leave(w *Waiter, got *task.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.queue = slices.DeleteFunc(q.queue, func(other *Waiter) bool { return other == w })
	if q.byUser[w.userID]--; q.byUser[w.userID] == 0 {
		delete(q.byUser, w.userID)
	}

	for _, o := range w.offers {
		if got == nil || o.ID != got.ID {
			q.give(o)
		}
	}

	q.count()
}

// count reports how many wait. The lock must be held.
func (q *Queue) count() {
	if q.o.OnWaiting != nil {
		q.o.OnWaiting(len(q.queue))
	}
}

// give offers a task to the first waiter that rests, has not had the offer, and wants such a task, or else to the first
// such one that looks. The lock must be held.
func (q *Queue) give(o *offer) {
	var first *Waiter
	for _, w := range q.queue {
		if o.had[w] || !o.Fits(w.wish) {
			continue
		}
		if !w.looks && len(w.offers) == 0 {
			first = w
			break
		}
		if first == nil {
			first = w
		}
	}

	if first == nil {
		return
	}

	o.had[first] = true
	first.offers = append(first.offers, o)
	first.wake()
}

// wake makes a resting waiter look. One that looks finds out at the end of its look. The lock must be held.
func (w *Waiter) wake() {
	if w.looks {
		return
	}
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// Hear takes events of the record, in their order and without a gap, and wakes the callers that wait for the tasks that
// these have made ready. Without events: there may be a gap before the next ones.
func (q *Queue) Hear(ctx context.Context, events []core.StreamedEvent) {
	if len(events) == 0 {
		q.missed()
		return
	}

	changed, blockers := readyBy(events)
	q.offer(ctx, changed, blockers)
}

// Stop lets nobody wait any more: the process stops.
func (q *Queue) Stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.missed()
}

// missed makes every waiter look.
func (q *Queue) missed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.queue {
		w.anew = true
		w.wake()
	}
}

// readyBy lists the tasks that events may have made ready, and the tasks that others may have waited for.
func readyBy(events []core.StreamedEvent) (changed, blockers []int64) {
	for _, e := range events {
		id, err := strconv.ParseInt(e.EntityID, 10, 64)
		switch {
		case e.Workload != lifecycle.WorkloadTask || err != nil:
		case e.To == string(lifecycle.TaskDone):
			blockers = append(blockers, id)
		case e.To == string(lifecycle.TaskNew), e.Type == lifecycle.TaskEdited:
			changed = append(changed, id)
		}
	}

	return changed, blockers
}

// Again offers a task that a caller of this process has chosen and not claimed to those who have looked meanwhile.
func (q *Queue) Again(ctx context.Context, id int64) {
	if q != nil {
		q.offer(ctx, []int64{id}, nil)
	}
}

// offer asks the record which of some tasks, and of those that wait for others, are ready, and offers these to the
// callers who wait. Without such callers it asks nothing. It does not block.
func (q *Queue) offer(ctx context.Context, changed, blockers []int64) {
	if q.add(changed, blockers) {
		go q.askReady(core.Reserved(context.WithoutCancel(ctx))) // nobody waits for statements of users
	}
}

// add notes tasks, if anybody waits, and reports whether nobody asks for noted tasks now.
func (q *Queue) add(changed, blockers []int64) (ask bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 || len(changed)+len(blockers) == 0 {
		return false
	}

	q.changed, q.blockers = append(q.changed, changed...), append(q.blockers, blockers...)
	ask = !q.asking
	q.asking = true
	return ask
}

// askReady asks for all noted tasks, with one statement for those that have come together.
func (q *Queue) askReady(ctx context.Context) {
	for {
		changed, blockers, users := q.noted()
		if users == nil {
			return
		}

		soon, cancel := context.WithTimeout(ctx, offerTime)
		ready, err := q.o.Store.ReadyAmong(soon, changed, blockers, users)
		cancel()
		if err != nil {
			q.o.Log.Warn("it is not known which tasks are ready", "error", err)
			q.add(changed, blockers)
			time.Sleep(offerPause)
			continue
		}

		q.giveAll(ready)
	}
}

// noted takes the noted tasks, with the users who wait; nil: there is nothing to ask for.
func (q *Queue) noted() (changed, blockers, users []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()

	changed, blockers = q.changed, q.blockers
	q.changed, q.blockers = nil, nil
	if len(q.queue) == 0 || len(changed)+len(blockers) == 0 {
		q.asking = false
		return nil, nil, nil
	}

	for id := range q.byUser {
		users = append(users, id)
	}
	return append([]int64{}, changed...), append([]int64{}, blockers...), users
}

// giveAll offers tasks that are ready.
func (q *Queue) giveAll(ready []task.Ready) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range ready {
		q.give(&offer{Ready: r, had: map[*Waiter]bool{}})
	}
}
