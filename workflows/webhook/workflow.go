// Package webhook is the workflow of a webhook endpoint: it never ends while the endpoint is active, and costs nothing
// while idle.
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
	attempt   = 2 * time.Minute // longer than an endpoint occupies its slot
	silence   = 15 * time.Second

	unservedWait = time.Minute // delay before an endpoint that no worker has served is tried again
)

var (
	sender  *activities.Activities
	stopper *activities.Stopper
)

// endpoint is the state of a run. Everything that must persist is in the record: the next run begins with an activity.
type endpoint struct {
	id    int64
	woken bool // a signal has arrived since the last activity began
	acted bool // … from the owner
}

// Run sends an endpoint's events. An activity sends all pending ones and then lets the endpoint wait; the next event,
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

// listen receives signals.
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

// show shows operators what the workflow is doing.
func (e *endpoint) show(ctx workflow.Context, what string) {
	record.ShowDetails(
		ctx, lifecycle.WebhookTitle(e.id), what, "The record has its place in the events, and why its receiver fails.",
	)
}

// send runs one activity. An owner's action that arrives meanwhile ends it, whatever the delay between its attempts.
// Any other signal lets it keep its place in the queue: it reads the record when its turn comes.
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
		// Temporal does not retry a cancelled activity: one request's failure, or a killed worker's missing heartbeat, is its
		// last one, although three days have not passed.
		return out, nil
	}

	// The receiver has failed for the whole time.
	out.Ended, err = record.Do(ctx, "stop a failing webhook", stopper.StopFailingWebhook, e.id)
	if err != nil || out.Ended {
		return out, err
	}
	return out, workflow.Sleep(ctx, unservedWait)
}
