// Package webhook sends events to users' endpoints.
package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	hooks "stagecoach/internal/store/webhook"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/webhook"
)

// Store is what the activities need from the record.
type Store interface {
	Begin(ctx context.Context, id int64) (hooks.Webhook, error)
	Advance(ctx context.Context, id, claim int64, to core.Cursor, delivered bool) (held bool, err error)
	LoseEvents(ctx context.Context, id, claim int64, floor core.Cursor) (held bool, err error)
	ToldOfLostEvents(ctx context.Context, id, claim int64) (held bool, err error)
	Fail(ctx context.Context, id, claim int64, why fault.Code) (held bool, err error)
	Tested(ctx context.Context, id int64, why fault.Code) error
	Rest(ctx context.Context, id, claim int64, at core.Cursor) (rests bool, err error)
	Stop(ctx context.Context, id, claim int64, why fault.Code) (stopped bool, err error)
}

// Events are the record's events, and who may see them.
type Events interface {
	EventFloor(ctx context.Context) (core.Cursor, error)
	EventsAfter(ctx context.Context, after core.Cursor, limit int) ([]core.StreamedEvent, error)
	AudienceOf(ctx context.Context, events []core.StreamedEvent, users []int64) (notice.Audience, error)
}

// Users finds the owner of an endpoint.
type Users interface {
	UserByID(ctx context.Context, id int64) (account.User, error)
}

type Sender interface {
	Send(ctx context.Context, address string, secrets []string, m webhook.Message) error
}

// Settings limit how long an endpoint occupies a worker's slot.
type Settings struct {
	Most   int           // events read
	Time   time.Duration // after which nothing more is begun
	Linger time.Duration // how long to wait for the next event after one was sent
}

// DefaultSettings let many endpoints share a few slots.
var DefaultSettings = Settings{Most: 5000, Time: 20 * time.Second, Linger: 500 * time.Millisecond}

// Activities has the activity of the webhooks' queue.
type Activities struct {
	Store    Store
	Events   Events
	Users    Users
	Sender   Sender
	Log      *slog.Logger
	Settings Settings
	OnSent   func(result string)     // counts requests: "ok" or a fault code
	OnPaused func(reason fault.Code) // counts endpoints paused by something other than their owners
}

// SendWebhookEvents sends the events after an endpoint's position, in order, until it has seen all of them, its time is
// over, or the receiver rejects one. The position is recorded after each accepted event, so a later attempt continues
// there: an event is sent again if its answer, or the record of it, was lost.
//
// The error is a failure of the receiver, which Temporal retries. An attempt that has sent something succeeds
// nevertheless: the next activity has its own three days, and delays that begin short again.
func (a *Activities) SendWebhookEvents(ctx context.Context, id int64) (out lifecycle.WebhookOutcome, err error) {
	defer temporalio.SendHeartbeats(ctx)()

	hook, err := a.Store.Begin(ctx, id)
	if fault.CodeOf(err) == fault.WebhookNotFound {
		return lifecycle.WebhookOutcome{Ended: true}, nil
	}
	if err != nil {
		return out, a.again(ctx, err)
	}

	s := &sending{Activities: a, hook: hook, at: hook.Cursor(), until: time.Now().Add(a.Settings.Time)}
	if hook.Testing() {
		err := s.send(ctx, fmt.Sprintf("test_%d", hook.TestAskedAt.UnixMicro()), payload{
			Type: lifecycle.WebhookEvents + ".test", Timestamp: hook.TestAskedAt.UTC(), Data: struct{}{},
		})
		if err == nil || fault.As(err) != nil { // a failure is the answer to the owner, and is not retried
			err = a.Store.Tested(ctx, id, fault.CodeOf(err))
		}
		if err != nil {
			return out, a.again(ctx, err)
		}
	}

	if hook.State != lifecycle.WebhookActive {
		return lifecycle.WebhookOutcome{Ended: true}, nil
	}

	out, err = s.run(ctx)
	return out, a.again(ctx, err)
}

// again is the error of an attempt that must be retried, whatever it was. The record is queried again soon: an outage
// of the record is not the receiver's.
func (a *Activities) again(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.CodeOf(err) == fault.StoreUnavailable:
		err = fault.As(err).After(recordPause)
	case fault.As(err) != nil:
		err = fault.As(err).Retry()
	}
	return temporalio.RetryUntilSeen(ctx, err)
}

// recordPause is the delay after which PostgreSQL is queried again.
const recordPause = 5 * time.Second

// stopping reports whether this worker is stopping: the next worker continues.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// Stopper has the activity of the main queue.
type Stopper struct {
	Store interface {
		StopFailing(ctx context.Context, id int64) (stopped bool, err error)
	}
	OnPaused func(reason fault.Code)
}

// StopFailingWebhook pauses an endpoint whose receiver has accepted no event for three days, and notifies its owner.
// Does nothing if no receiver failed because no worker served the queue.
func (s *Stopper) StopFailingWebhook(ctx context.Context, id int64) (stopped bool, err error) {
	stopped, err = s.Store.StopFailing(ctx, id)
	if err != nil {
		return false, temporalio.RetryUntilSeen(ctx, err)
	}
	if stopped && s.OnPaused != nil {
		s.OnPaused(fault.ReceiverFailed)
	}
	return stopped, nil
}
