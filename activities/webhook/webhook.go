// Package webhook sends events to the endpoints of users.
package webhook

import (
	"context"
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

// Store is what the activities need of the record.
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

// Events are the events of the record, and who may see them.
type Events interface {
	EventFloor(ctx context.Context) (core.Cursor, error)
	EventsAfter(ctx context.Context, after core.Cursor, limit int) ([]core.StreamedEvent, error)
	AudienceOf(ctx context.Context, events []core.StreamedEvent, users []int64) (notice.Audience, error)
}

// Users finds the owner of an endpoint.
type Users interface {
	UserByID(ctx context.Context, id int64) (account.User, error)
}

// Sender sends one message.
type Sender interface {
	Send(ctx context.Context, address string, secrets []string, m webhook.Message) error
}

// Settings say how long an endpoint keeps a worker's place.
type Settings struct {
	Most   int           // events that are read
	Time   time.Duration // after which nothing more is begun
	Linger time.Duration // how long the next event is waited for after one that was sent
}

// DefaultSettings let many endpoints share a few places.
var DefaultSettings = Settings{Most: 5000, Time: 20 * time.Second, Linger: 500 * time.Millisecond}

// Activities has the activity of the queue of webhooks.
type Activities struct {
	Store    Store
	Events   Events
	Users    Users
	Sender   Sender
	Log      *slog.Logger
	Settings Settings
	OnSent   func(result string)     // counts requests: "ok" or a fault code
	OnPaused func(reason fault.Code) // counts endpoints that were paused, not by their owners
}

// SendWebhookEvents sends the events after the place of an endpoint, in order, until it has seen all of them, its time
// is over, or the receiver does not take one. The record has the place after each event that was taken, so a later
// attempt continues there: an event is sent again when its answer, or the record of it, was lost.
//
// The error is a failure of the receiver, which Temporal repeats. An attempt that has sent something ends well all the
// same: the next activity has its own three days, and pauses that begin short again.
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
		if err := s.test(ctx); err != nil {
			return out, a.again(ctx, err)
		}
	}

	if hook.State != lifecycle.WebhookActive {
		return lifecycle.WebhookOutcome{Ended: true}, nil
	}

	out, err = s.run(ctx)
	return out, a.again(ctx, err)
}

// again is the error of an attempt that is to be repeated, whatever it was. The record is asked again soon: an outage
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

// recordPause is the pause after which PostgreSQL is asked again.
const recordPause = 5 * time.Second

// stopping reports whether this worker is about to stop: the next worker continues.
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

func (a *Activities) paused(why fault.Code) {
	if a.OnPaused != nil {
		a.OnPaused(why)
	}
}

// Stopper has the activity of the main queue.
type Stopper struct {
	Store interface {
		StopFailing(ctx context.Context, id int64) (stopped bool, err error)
	}
	OnPaused func(reason fault.Code)
}

// StopFailingWebhook pauses an endpoint whose receiver has not taken an event for three days, and tells its owner. It
// does not when no receiver has failed: no worker has served the queue.
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
