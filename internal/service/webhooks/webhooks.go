// Package webhooks creates and changes users' webhook endpoints.
package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	hooks "stagecoach/internal/store/webhook"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/webhook"
)

// Store is what a Service needs from the record.
type Store interface {
	Create(
		ctx context.Context, r core.Request, address, secret string, workloads []string, after core.Cursor,
	) (made hooks.Webhook, fresh bool, err error)
	ByID(ctx context.Context, userID, id int64) (hooks.Webhook, error)
	Change(ctx context.Context, userID, id int64, c hooks.Change) (hooks.Webhook, error)
	Rotate(ctx context.Context, userID, id int64, secret string, overlap time.Duration) (hooks.Webhook, error)
	Replay(ctx context.Context, userID, id int64, after core.Cursor) (hooks.Webhook, error)
	AskTest(ctx context.Context, userID, id int64) (hooks.Webhook, error)
	Pause(ctx context.Context, userID, id int64) (hooks.Webhook, error)
	Resume(ctx context.Context, userID, id int64, tokenID *int64) (hooks.Webhook, error)
	Remove(ctx context.Context, userID, id int64) error

	Unanswered(ctx context.Context, age time.Duration, limit int) ([]hooks.Unanswered, error)
	Signalled(ctx context.Context, id int64, wokenAt time.Time) error
}

// Events returns the position of the newest event.
type Events interface {
	EventsNow(ctx context.Context) (core.Cursor, error)
}

// Service creates and changes users' endpoints. Every change goes to the record first. Then the endpoint's workflow is
// signalled, and starts anew from the record; RepeatSignals repeats lost signals.
type Service struct {
	Temporal client.Client
	Store    Store
	Events   Events
	Log      *slog.Logger
	Sending  webhook.Options
	Patience time.Duration // how long a request waits for a test event's outcome
}

// Create adds an endpoint that receives events from now on. Its secret, Secrets[0], may be shown only in the first
// answer. A repetition with the same key returns the endpoint as it is now. The request has a user, a token and a key.
func (h *Service) Create(
	ctx context.Context, request core.Request, address string, workloads []string,
) (made hooks.Webhook, fresh bool, err error) {
	if err := h.Sending.CheckAddress(address); err != nil {
		return made, false, err
	}

	now, err := h.Events.EventsNow(ctx)
	if err != nil {
		return made, false, err
	}

	request.Asked = asked(address, workloads)
	made, fresh, err = h.Store.Create(ctx, request, address, webhook.NewSecret(), workloads, now)
	made, err = h.woken(ctx, made, err)
	return made, fresh, err
}

// asked is the hashed content of a request for an endpoint. It is stored with the answer, and the record may contain
// endpoint addresses only encrypted.
func asked(address string, workloads []string) string {
	sum := sha256.Sum256([]byte(address + " " + strings.Join(workloads, ",")))
	return "webhook " + hex.EncodeToString(sum[:])
}

// Change changes the address and the workloads; nil: unchanged.
func (h *Service) Change(ctx context.Context, userID, id int64, c hooks.Change) (changed hooks.Webhook, err error) {
	if c.Address != nil {
		if err := h.Sending.CheckAddress(*c.Address); err != nil {
			return changed, err
		}
	}
	changed, err = h.Store.Change(ctx, userID, id, c)
	return h.woken(ctx, changed, err)
}

// Pause stops sending to an endpoint until it is resumed.
func (h *Service) Pause(ctx context.Context, userID, id int64) (hooks.Webhook, error) {
	paused, err := h.Store.Pause(ctx, userID, id)
	return h.woken(ctx, paused, err)
}

// Resume resumes sending to an endpoint at once, with three days for the next event.
func (h *Service) Resume(ctx context.Context, userID, id int64, tokenID *int64) (hooks.Webhook, error) {
	resumed, err := h.Store.Resume(ctx, userID, id, tokenID)
	return h.woken(ctx, resumed, err)
}

// Rotate gives an endpoint a new secret, Secrets[0] of the answer. The old one also signs, for overlap.
func (h *Service) Rotate(ctx context.Context, userID, id int64, overlap time.Duration) (hooks.Webhook, error) {
	rotated, err := h.Store.Rotate(ctx, userID, id, webhook.NewSecret(), overlap)
	return h.woken(ctx, rotated, err)
}

// Replay makes an endpoint continue after another position in the event stream.
func (h *Service) Replay(ctx context.Context, userID, id int64, after core.Cursor) (hooks.Webhook, error) {
	replayed, err := h.Store.Replay(ctx, userID, id, after)
	return h.woken(ctx, replayed, err)
}

// Remove deletes an endpoint.
func (h *Service) Remove(ctx context.Context, userID, id int64) error {
	err := h.Store.Remove(ctx, userID, id)
	if err == nil {
		_ = h.Signal(ctx, id, lifecycle.WebhookAct)
	}
	return err
}

// Test sends a test event and waits a limited time for its outcome; Testing means that there is none yet.
func (h *Service) Test(ctx context.Context, userID, id int64) (hooks.Webhook, error) {
	tested, err := h.Store.AskTest(ctx, userID, id)
	if tested, err = h.woken(ctx, tested, err); err != nil {
		return tested, err
	}

	asked := *tested.TestAskedAt
	for deadline := time.Now().Add(h.Patience); time.Now().Before(deadline); {
		tested, err = h.Store.ByID(ctx, userID, id)
		if err != nil || tested.TestedAt != nil && !tested.TestedAt.Before(asked) {
			return tested, err
		}

		select {
		case <-ctx.Done():
			return tested, ctx.Err()
		case <-time.After(lookEvery):
		}
	}

	return tested, nil
}

// lookEvery is the polling interval for a test event's outcome.
const lookEvery = 100 * time.Millisecond

// woken signals an endpoint that its owner has changed it.
func (h *Service) woken(ctx context.Context, w hooks.Webhook, err error) (hooks.Webhook, error) {
	if err == nil {
		_ = h.Signal(ctx, w.ID, lifecycle.WebhookAct)
	}
	return w, err
}

// Wake signals an endpoint that there is an event.
func (h *Service) Wake(ctx context.Context, id int64) { _ = h.Signal(ctx, id, lifecycle.WebhookWake) }

// Signal signals an endpoint's workflow, starting it if it is not running. A failure is only logged: the record has
// what is to be done, and RepeatSignals signals again.
func (h *Service) Signal(ctx context.Context, id int64, signal string) error {
	_, err := h.Temporal.SignalWithStartWorkflow(ctx, lifecycle.WebhookID(id), signal, nil, client.StartWorkflowOptions{
		TaskQueue: lifecycle.MainQueue, StaticSummary: lifecycle.WebhookTitle(id),
	}, lifecycle.WebhookType, id)
	if err != nil && ctx.Err() == nil {
		h.Log.Warn("webhook not signalled yet", "webhook", id, "error", temporalio.Unreachable(err))
	}
	return err
}

const (
	answered     = 5 * time.Second // a younger signal may still be in flight
	repeatedPage = 1000
)

// RepeatSignals repeats, once, endpoint signals that may be lost: Temporal keeps what it has accepted. Only for a
// failing endpoint, whose sender may be delaying its next attempt, is the signal an owner's action, which ends the
// delay.
func (h *Service) RepeatSignals(ctx context.Context) error {
	for {
		page, err := h.Store.Unanswered(ctx, answered, repeatedPage)
		if err != nil {
			return err
		}

		for _, one := range page {
			signal := lifecycle.WebhookWake
			if one.Failing {
				signal = lifecycle.WebhookAct
			}

			if err := h.Signal(ctx, one.ID, signal); err != nil {
				return err
			}
			if err := h.Store.Signalled(ctx, one.ID, one.WokenAt); err != nil {
				return err
			}
		}

		if len(page) < repeatedPage {
			return nil
		}
	}
}
