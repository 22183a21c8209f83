// Package transaction is the fourth workload: TON comes in, Telegram Stars go out, exactly once.
//
// Two kinds of workflows work together. TonMonitor follows the wallet's history on the chain without a gap and writes
// it into the record: new transfers become pending transactions, payments of ours become paid or dead. Transaction
// drives one transfer: one activity waits for the wallet's turn and buys in it, from the price to the last confirmation.
//
// The record decides. Each step of a Transaction changes the record and gets a snapshot back, and the next step follows
// from that snapshot alone. A workflow that was terminated, reset or started twice therefore continues from where the
// money is. After a payment is signed the only ways on are "found on the chain" and "proven dead".
package transaction

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// Settings are times that the workflow gives to its timers. None decides between commands.
type Settings struct {
	StuckAfter time.Duration // in processing
}

// Workflow drives transactions.
type Workflow struct{ Settings Settings }

// These serve only to name the activities; the worker has the real ones.
var (
	transactions *activities.Activities
	payments     *activities.PaymentActivities
)

// run is what the workflow knows of its transaction: the last snapshot of the record, and what has happened since.
type run struct {
	settings Settings
	hash     string
	at       activities.Snapshot // without a status: not read yet
	since    time.Time           // when the status was entered, for people
	reads    int                 // how often the record was read
	before   *Carried            // what the previous run handed over, until the record is read

	deferredUntil *time.Time // the limit for 24 hours has no room until then; nil: it is not known to be full
	askedAt       *time.Time // since when Fragment is asked for the Stars of the paid purchase; nil: in the turn
	executing     bool       // an activity changes the record: the snapshot may be old
	cancelled     bool       // by an operator, and not retried since
	changed       bool       // by a person: the record is to be read

	stuck          bool
	stopStuckTimer workflow.CancelFunc

	mutex     workflow.Mutex
	refreshes workflow.ReceiveChannel
	retries   workflow.ReceiveChannel
}

// Run drives one transaction until nothing can change any more. An operator may start it at any time with the hash
// alone: it continues from the record's state. carried is what the previous run handed over; nil: this is the first
// one.
func (w *Workflow) Run(ctx workflow.Context, hash string, carried *Carried) (lifecycle.TransactionView, error) {
	t := &run{
		settings: w.Settings, hash: hash, before: carried, mutex: workflow.NewMutex(ctx), stopStuckTimer: func() {},
		refreshes: workflow.GetSignalChannel(ctx, lifecycle.TransactionRefreshSignal),
		retries:   workflow.GetSignalChannel(ctx, lifecycle.TransactionRetrySignal),
		cancelled: carried != nil && carried.Cancelled,
	}
	if err := t.listen(ctx); err != nil {
		return lifecycle.TransactionView{}, err
	}
	if err := ask(ctx, t, "lock the transaction", transactions.LockTransaction, hash); err != nil {
		return lifecycle.TransactionView{}, err
	}

	for {
		var err error
		step := t.next()
		switch {
		case ctx.Err() != nil: // a person cancels; what follows is not cancelled
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			t.cancelled = true
			err = t.stop(ctx)
		case step == stepOver:
			// A request in flight may still change that.
			err = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
			if err == nil && t.next() == stepOver {
				return t.view(), t.ending()
			}
		case t.handsOver(ctx, step):
			return lifecycle.TransactionView{}, t.handOver(ctx)
		default:
			err = steps[step](t, ctx)
		}

		if err != nil && ctx.Err() == nil {
			return lifecycle.TransactionView{}, err
		}
	}
}

// ending is the error that the workflow closes with: operators find each kind by its status.
func (t *run) ending() error {
	switch {
	case t.at.State != lifecycle.TransactionFailed:
		return nil
	case t.cancelled:
		return temporal.NewCanceledError()
	default:
		return temporalio.Failed(t.at.Error, string(t.at.ErrorClass))
	}
}

// ask runs an activity on the record and takes over the snapshot that it returns. One runs at a time, so that the
// snapshots arrive in the order of the record's states.
func ask[In any](
	ctx workflow.Context, t *run, summary string, act func(context.Context, In) (activities.Snapshot, error), in In,
) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := t.mutex.Lock(ctx); err != nil {
		return err
	}
	defer t.mutex.Unlock()
	snapshot, err := record.Do(ctx, summary, act, in)
	if err == nil {
		t.take(ctx, snapshot)
	}
	return err
}

// learn takes over the snapshot of an activity that ran concurrently with requests. A snapshot older than the known one
// is ignored and the record is read again, because a restore may have set the record back.
func (t *run) learn(ctx workflow.Context, snapshot activities.Snapshot) error {
	if snapshot.Revision >= t.at.Revision {
		t.take(ctx, snapshot)
		return nil
	}
	return t.loadSnapshot(ctx)
}

func (t *run) loadSnapshot(ctx workflow.Context) error {
	return ask(ctx, t, "read the record", transactions.LookAtTransaction, t.hash)
}

// take takes over a snapshot of the record.
func (t *run) take(ctx workflow.Context, snapshot activities.Snapshot) {
	before, carried := t.at, t.before
	t.at, t.before = snapshot, nil
	t.reads++
	if before.State == snapshot.State && sameTime(before.Since, snapshot.Since) {
		t.show(ctx)
		return
	}
	if carried.fits(snapshot) {
		t.goOn(ctx, *carried)
		return
	}

	t.since, t.deferredUntil, t.askedAt, t.stuck = workflow.Now(ctx).UTC(), nil, nil, false
	if !t.executing { // else the record may have been in this state for a while
		record.Drain(t.retries) // a request from before this state was not meant for it
	}
	if t.next() != stepOver { // else the timer ends with the workflow
		t.stopStuckTimer()
	}

	if snapshot.State == lifecycle.TransactionProcessing {
		t.startStuckTimer(ctx)
	}

	t.show(ctx)
}

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// startStuckTimer notifies the administrators when the transaction is still in processing after StuckAfter. Nothing is
// reset.
func (t *run) startStuckTimer(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx, t.stopStuckTimer = workflow.WithCancel(ctx)
	left := max(t.settings.StuckAfter-workflow.Now(ctx).Sub(*t.at.Since), time.Second)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for left > 0 {
			if workflow.NewTimerWithOptions(ctx, left, workflow.TimerOptions{Summary: "alert when stuck"}).Get(ctx, nil) != nil {
				return // it has left processing
			}
			var err error
			if left, err = record.Do(ctx, "alert: it is stuck", transactions.AlertStuck, t.hash); err != nil || ctx.Err() != nil {
				return
			}
		}
		t.stuck = true
		t.show(ctx)
	})
}
