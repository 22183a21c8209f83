package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	hooks "stagecoach/internal/store/webhook"
	"stagecoach/internal/webhook"
)

const (
	pageSize  = 100
	accessAge = time.Second            // maximum age of the owner's access rights
	heldBack  = 100 * time.Millisecond // before rereading events that are not final yet
)

// sending is one attempt to send an endpoint's events.
type sending struct {
	*Activities
	hook  hooks.Webhook
	at    core.Cursor // the position after the last event sent or skipped
	until time.Time

	read, sent int
	lingered   bool // since the last event sent

	owner    account.User
	audience notice.Audience
	seenAt   time.Time // when owner and audience were read
}

var (
	errLost  = errors.New("the endpoint was changed, or has another sender") // the next activity begins from the record
	errEnded = errors.New("the endpoint is paused")
)

// run sends until nothing is left, or its time is over.
func (s *sending) run(ctx context.Context) (out lifecycle.WebhookOutcome, err error) {
	for s.read < s.Settings.Most && time.Now().Before(s.until) && !stopping(ctx) {
		rests, err := s.step(ctx)
		switch {
		case errors.Is(err, errLost):
			return out, nil
		case errors.Is(err, errEnded):
			return lifecycle.WebhookOutcome{Ended: true}, nil
		case err != nil && s.sent > 0 && ctx.Err() == nil:
			return out, nil // the next activity has its own time
		case err != nil:
			return out, err
		case rests:
			return lifecycle.WebhookOutcome{Rests: true}, nil
		}
	}

	return out, nil
}

// step sends a page of events, or makes the endpoint wait if there is none.
func (s *sending) step(ctx context.Context) (rests bool, err error) {
	if s.hook.Orphaned() {
		return false, s.stop(ctx, fault.TokenEnded)
	}

	page, err := s.Events.EventsAfter(ctx, s.at, pageSize)
	if err != nil {
		return false, err
	}
	if err := s.tellOfLost(ctx); err != nil {
		return false, err
	}

	if len(page) > 0 {
		s.read += len(page)
		return false, s.pass(ctx, page)
	}
	if s.sent > 0 && !s.lingered {
		s.lingered = true
		return false, pause(ctx, s.Settings.Linger)
	}

	rests, err = s.Store.Rest(ctx, s.hook.ID, s.hook.Claim, s.at)
	if err != nil || rests {
		return rests, err
	}
	if err := s.held(s.Store.Advance(ctx, s.hook.ID, s.hook.Claim, s.at, false)); err != nil {
		return false, err
	}

	return false, pause(ctx, heldBack)
}

// held is errLost if a sender's claim is not the last one.
func (s *sending) held(held bool, err error) error {
	if err == nil && !held {
		return errLost
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// pass sends, each in its turn, the page's events that the owner may see, and skips the others.
func (s *sending) pass(ctx context.Context, page []core.StreamedEvent) error {
	s.seenAt = time.Time{}
	skipped := false
	for i, event := range page {
		if time.Now().After(s.until) || stopping(ctx) {
			break
		}
		if err := s.look(ctx, page[i:]); err != nil {
			return err
		}

		skipped = !s.hook.Wants(event) || !s.audience.Sees(s.owner, event)
		if !skipped {
			if err := s.deliver(ctx, event); err != nil {
				return err
			}
		}

		s.at = event.Cursor()
	}

	if !skipped {
		return nil
	}
	return s.held(s.Store.Advance(ctx, s.hook.ID, s.hook.Claim, s.at, false))
}

// look reads the owner's current state and what they may see of the events, unless cached. It pauses the endpoint of an
// inactive owner, or one whose token has ended.
func (s *sending) look(ctx context.Context, events []core.StreamedEvent) (err error) {
	if time.Since(s.seenAt) < accessAge {
		return nil
	}
	if s.hook.Orphaned() {
		return s.stop(ctx, fault.TokenEnded)
	}

	s.seenAt = time.Now()
	if s.owner, err = s.Users.UserByID(ctx, s.hook.UserID); err != nil {
		return err
	}
	if s.owner.Status != account.UserActive {
		return s.stop(ctx, fault.OwnerNotActive)
	}

	s.audience, err = s.Events.AudienceOf(ctx, events, []int64{s.owner.ID})
	return err
}

// stop pauses the endpoint.
func (s *sending) stop(ctx context.Context, why fault.Code) error {
	stopped, err := s.Store.Stop(ctx, s.hook.ID, s.hook.Claim, why)
	if err := s.held(stopped, err); err != nil {
		return err
	}
	if s.OnPaused != nil {
		s.OnPaused(why)
	}
	return errEnded
}

// deliver sends an event, and records that the receiver has it.
func (s *sending) deliver(ctx context.Context, event core.StreamedEvent) error {
	err := s.send(ctx, fmt.Sprint(event.ID), payload{
		Type: event.Workload + "." + event.Type, Timestamp: event.CreatedAt.UTC(), Data: event.Shown(),
	})
	if err != nil {
		return s.failed(ctx, err)
	}

	s.sent++
	s.lingered = false
	return s.held(s.Store.Advance(ctx, s.hook.ID, s.hook.Claim, event.Cursor(), true))
}

// failed records why the receiver did not accept a message. It returns the error, unless that pauses the endpoint.
func (s *sending) failed(ctx context.Context, err error) error {
	why := fault.CodeOf(err)
	switch {
	case why == fault.WebhookGone:
		return s.stop(ctx, fault.ReceiverGone)
	case why == "":
		return err // it was cancelled, or is our own failure
	}

	if lost := s.held(s.Store.Fail(ctx, s.hook.ID, s.hook.Claim, why)); lost != nil {
		return lost
	}
	return err
}

// payload is the body of a message.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// send sends a message with an id that is the same on every attempt.
func (s *sending) send(ctx context.Context, name string, p payload) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}

	id := fmt.Sprintf("msg_%d_%s", s.hook.ID, name)
	err = s.Sender.Send(ctx, s.hook.Address, s.hook.Secrets, webhook.Message{ID: id, Body: body})
	if s.OnSent != nil && ctx.Err() == nil {
		s.OnSent(result(err))
	}
	return err
}

// result names the outcome of a request in the metrics.
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case fault.As(err) == nil:
		return string(fault.Internal)
	default:
		return string(fault.CodeOf(err))
	}
}

// lost notifies a receiver of events that were deleted before they were sent.
type lost struct {
	After  string `json:"after"`  // the receiver's position
	Before string `json:"before"` // the position up to which events are missing
}

// tellOfLost notifies the receiver that events after its position were deleted. The remaining ones are sent next.
func (s *sending) tellOfLost(ctx context.Context) error {
	floor, err := s.Events.EventFloor(ctx)
	if err != nil {
		return err
	}

	if s.at.Before(floor) && s.hook.Floor().Before(floor) {
		if err := s.held(s.Store.LoseEvents(ctx, s.hook.ID, s.hook.Claim, floor)); err != nil {
			return err
		}
		s.hook.EventsLost, s.hook.FloorXID, s.hook.FloorID = true, floor.XID, floor.ID
	}

	if !s.hook.EventsLost {
		return nil
	}

	err = s.send(ctx, "lost_"+s.at.String(), payload{
		Type: lifecycle.WebhookEvents + ".events_lost", Timestamp: time.Now().UTC(),
		Data: lost{After: s.at.String(), Before: s.hook.Floor().String()},
	})
	if err != nil {
		return s.failed(ctx, err)
	}

	s.hook.EventsLost = false
	return s.held(s.Store.ToldOfLostEvents(ctx, s.hook.ID, s.hook.Claim))
}
