// Package transaction is the fourth workload: TON comes in, Telegram Stars go out, exactly once.
//
// Two kinds of workflows cooperate. TonMonitor follows the wallet's history on the chain without a gap and writes it to
// the record: new transfers become pending transactions, our payments become paid or dead. Transaction drives one
// transfer: one activity buys, from the gate to the last confirmation, and Temporal retries it.
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

// Settings are times for the workflow's timers. None decides between commands.
type Settings struct {
	StuckAfter time.Duration // in processing
}

// Workflow drives transactions.
type Workflow struct{ Settings Settings }

// Used only to name the activities; the worker has the real ones.
var (
	transactions *activities.Activities
	payments     *activities.PaymentActivities
)

// run is the workflow's knowledge of its transaction: the record's last snapshot, and what has happened since.
type run struct {
	settings Settings
	hash     string
	at       snapshot  // without a status: not yet read
	since    time.Time // when the status was entered, for people
	reads    int       // how often the record was read
	before   *Carried  // the previous run's state, until the record is read

	asked     bool // a person's request was carried out: waiting starts over
	cancelled bool // by an operator, and not retried since

	stuck          bool
	watched        bool // the stuck timer runs
	stopStuckTimer workflow.CancelFunc

	mutex     workflow.Mutex
	refreshes workflow.ReceiveChannel
	retries   workflow.ReceiveChannel
	stages    workflow.ReceiveChannel
}

// Run drives one transaction until nothing more can change. An operator may start it at any time with only the
// hash: it continues from the recorded state. carried is the previous run's state; nil: this is the first run.
func (w *Workflow) Run(ctx workflow.Context, hash string, carried *Carried) (lifecycle.TransactionView, error) {
	t := &run{
		settings: w.Settings, hash: hash, before: carried, mutex: workflow.NewMutex(ctx), stopStuckTimer: func() {},
		refreshes: workflow.GetSignalChannel(ctx, lifecycle.TransactionRefreshSignal),
		retries:   workflow.GetSignalChannel(ctx, lifecycle.TransactionRetrySignal),
		stages:    workflow.GetSignalChannel(ctx, lifecycle.TransactionStageSignal),
		cancelled: carried != nil && carried.Cancelled,
	}
	if err := t.listen(ctx); err != nil {
		return lifecycle.TransactionView{}, err
	}
	if ctx.Err() == nil { // otherwise it is stopped without an attempt
		if err := ask(ctx, t, "open the transaction", transactions.OpenTransaction, hash); err != nil {
			return lifecycle.TransactionView{}, err
		}
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
		case waiting[step] && t.mayContinue(ctx): // nothing is in flight
			next := Carried{
				Status: t.at.State, Entered: t.at.Since, Since: t.since, Cancelled: t.cancelled, Stuck: t.stuck,
			}
			return lifecycle.TransactionView{}, workflow.NewContinueAsNewError(ctx, lifecycle.TransactionType, t.hash, &next)
		default:
			err = steps[step](t, ctx)
		}

		if err != nil && ctx.Err() == nil {
			return lifecycle.TransactionView{}, err
		}
	}
}

// ending is the error with which the workflow closes: operators find each kind by its status.
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

// ask runs an activity on the record and adopts the snapshot that it returns. One runs at a time, so that the snapshots
// arrive in the order of the recorded states.
func ask[In any](
	ctx workflow.Context, t *run, summary string, act func(context.Context, In) (snapshot, error), in In,
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

// learn adopts the snapshot of an activity that ran concurrently with requests. A snapshot older than the known one is
// ignored and the record is read again, because a restore may have set the record back.
func (t *run) learn(ctx workflow.Context, now snapshot) error {
	if now.Revision >= t.at.Revision {
		t.take(ctx, now)
		return nil
	}
	return t.loadSnapshot(ctx)
}

func (t *run) loadSnapshot(ctx workflow.Context) error {
	return ask(ctx, t, "read the record", transactions.LookAtTransaction, t.hash)
}

// take adopts a snapshot of the record.
func (t *run) take(ctx workflow.Context, now snapshot) {
	before, carried := t.at, t.before
	t.at, t.before = now, nil
	t.reads++
	switch {
	case before.State == now.State && sameTime(before.Since, now.Since):
	case carried != nil && carried.Status == now.State && sameTime(carried.Entered, now.Since):
		t.since, t.stuck = carried.Since, carried.Stuck
	default:
		t.since, t.stuck = workflow.Now(ctx).UTC(), false
	}
	t.watchStuck(ctx)
	t.show(ctx)
}

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// watchStuck has administrators alerted when the transaction is in processing for too long: the record knows when that
// began, and how long payments were stopped meanwhile. Nothing is reset.
func (t *run) watchStuck(ctx workflow.Context) {
	switch step := t.next(); {
	case step == stepOver: // the timer ends with the workflow
		return
	case step != stepPay && step != stepConfirm && step != stepAwaitReview:
		t.stopStuckTimer()
		t.watched = false
		return
	case t.watched || t.stuck:
		return
	}

	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx, t.stopStuckTimer = workflow.WithCancel(ctx)
	t.watched = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { t.watched = t.watched && ctx.Err() != nil }() // otherwise another timer runs, or none is needed
		for left, due := t.settings.StuckAfter, false; !due; due = left <= 0 {
			timer := workflow.NewTimerWithOptions(ctx, max(left, time.Second), workflow.TimerOptions{Summary: "alert when stuck"})
			if timer.Get(ctx, nil) != nil {
				return
			}
			var err error
			if left, err = record.Do(ctx, "alert: it is stuck", transactions.AlertStuck, t.hash); err != nil || ctx.Err() != nil {
				return
			}
		}
		if t.loadSnapshot(ctx) == nil { // it has entered processing since
			t.stuck = true
			t.show(ctx)
		}
	})
}
