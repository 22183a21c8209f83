// Package webhook is the workflow of an endpoint that gets events: it never ends while the endpoint is active, and
// costs nothing while nothing happens.
package webhook

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/webhook"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

const (
	patience  = 72 * time.Hour // for one event: then the endpoint is paused
	firstWait = time.Second
	longWait  = time.Hour
	attempt   = 2 * time.Minute // longer than an endpoint keeps its place
	silence   = 15 * time.Second

	unservedWait = time.Minute // before an endpoint is tried again that nobody has tried
)

var (
	sender  *activities.Activities
	stopper *activities.Stopper
)

// endpoint is the state of a run. All that must last is in the record: the next run begins with an activity.
type endpoint struct {
	id    int64
	woken bool // a signal has come since the last activity began
	acted bool // … of the owner
}

// Run sends the events of an endpoint. An activity sends all that there are and lets the endpoint rest; the next event,
// or a change by its owner, is a signal.
func Run(ctx workflow.Context, id int64) error {
	e := &endpoint{id: id}
	e.listen(ctx)

	for {
		out, err := e.send(ctx)
		if err != nil {
			return err
		}

		switch {
		case out.Ended && !e.woken:
			return nil
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, lifecycle.WebhookType, id)
		case out.Rests && !e.woken:
			e.show(ctx, "Waits for the next event that its owner may see.")
			if err := workflow.Await(ctx, func() bool { return e.woken }); err != nil {
				return err
			}
		}
	}
}

// listen notes signals.
func (e *endpoint) listen(ctx workflow.Context) {
	for _, signal := range []string{lifecycle.WebhookWake, lifecycle.WebhookAct} {
		workflow.Go(ctx, func(ctx workflow.Context) {
			for {
				workflow.GetSignalChannel(ctx, signal).Receive(ctx, nil)
				e.woken, e.acted = true, e.acted || signal == lifecycle.WebhookAct
			}
		})
	}
}

// show shows operators what the workflow does.
func (e *endpoint) show(ctx workflow.Context, what string) {
	record.ShowDetails(
		ctx, lifecycle.WebhookTitle(e.id), what, "The record has its place in the events, and why its receiver fails.",
	)
}

// send runs one activity. An act of the owner that comes meanwhile ends it, whatever the pause between its tries. Any
// other signal lets it keep its place in the queue: it reads the record when its turn comes.
func (e *endpoint) send(ctx workflow.Context) (out lifecycle.WebhookOutcome, err error) {
	e.woken, e.acted = false, false
	e.show(ctx, "Sends events.")
	sending, stop := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              lifecycle.WebhookQueue,
		ScheduleToCloseTimeout: patience,
		StartToCloseTimeout:    attempt,
		HeartbeatTimeout:       silence,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: firstWait, MaximumInterval: longWait},
		Summary:                "send events",
	}))
	defer stop()

	activity := workflow.ExecuteActivity(sending, sender.SendWebhookEvents, e.id)
	if err := workflow.Await(ctx, func() bool { return activity.IsReady() || e.acted }); err != nil {
		return out, err
	}

	stop()
	err = activity.Get(ctx, &out)
	switch {
	case err == nil || ctx.Err() == nil && temporal.IsCanceledError(err):
		return out, nil
	case ctx.Err() != nil:
		return out, ctx.Err()
	case e.acted:
		// Temporal does not repeat an activity that was cancelled: the failure of one request, or the heartbeat that a
		// killed worker owes, is its last one, though three days are not over.
		return out, nil
	}

	return e.giveUp(ctx)
}

// giveUp pauses an endpoint whose receiver has failed for all the time that there was.
func (e *endpoint) giveUp(ctx workflow.Context) (out lifecycle.WebhookOutcome, err error) {
	out.Ended, err = record.Do(ctx, "stop a failing webhook", stopper.StopFailingWebhook, e.id)
	if err != nil || out.Ended {
		return out, err
	}
	return out, workflow.Sleep(ctx, unservedWait)
}
