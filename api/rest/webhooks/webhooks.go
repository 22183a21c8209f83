// Package webhooks has the operations on users' webhook endpoints.
package webhooks

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/service/webhooks"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	hooks "stagecoach/internal/store/webhook"
)

const webhooksCursor = "webhooks"

// Places checks that the events after a cursor can be resent.
type Places interface {
	Check(ctx context.Context, from core.Cursor) error
}

// handlers implement the operations on webhooks.
type handlers struct {
	*server.Server
	webhooks *webhooks.Service
	places   Places
}

// kinds are the error codes specific to webhooks.
var kinds = map[fault.Code]server.Kind{
	fault.WebhookNotFound: {Status: http.StatusNotFound, Title: "Webhook not found"},
}

// Register adds the operations on webhooks to an API.
func Register(s *server.Server, webhooks *webhooks.Service, places Places) {
	h := &handlers{s, webhooks, places}
	maps.Copy(s.Kinds, kinds)
	group := server.Group{
		Server: s, Tag: "Webhooks", Access: server.ForUsers, Scope: account.ScopeWebhooks, Subject: "webhook",
	}

	one := group
	one.Faults = []fault.Code{fault.WebhookNotFound}

	server.Register(group, server.Operation{
		Id: "create-webhook", Route: "POST /v1/webhooks", Status: http.StatusCreated,
		Summary: "Create a webhook that receives every event visible to you",
		Description: "Sends events from now on, in order, at least once, signed as in Standard Webhooks. The response contains the secret, shown only once. " +
			"The URL must be https and public; redirects are not followed. Visibility is checked at the moment of sending. " +
			"After a timeout or a response other than 2xx the event is retried for three days with increasing delays while later events wait; after that, or immediately on a 410, the webhook is paused and you are notified. " +
			"The token also needs the scope `read`. Repeating the `Idempotency-Key` returns the webhook as it is now, without the secret: rotate it if you lost the first response.",
		Faults: []fault.Code{fault.QuotaExceeded, fault.WebhookNotFound},
	}, h.create)

	server.Register(group, server.Operation{
		Id: "list-webhooks", Route: "GET /v1/webhooks",
		Summary: "List your webhooks, oldest first",
	}, h.list)

	server.Register(one, server.Operation{
		Id: "get-webhook", Route: "GET /v1/webhooks/{id}",
		Summary: "Get one of your webhooks",
	}, h.get)

	server.Register(one, server.Operation{
		Id: "change-webhook", Route: "PATCH /v1/webhooks/{id}",
		Summary:     "Change, pause or resume one of your webhooks",
		Description: "Omitted fields stay unchanged. ACTIVE resumes immediately from the position reached. The token also needs the scope `read`.",
	}, h.change)

	server.RegisterSilent(one, server.Operation{
		Id: "delete-webhook", Route: "DELETE /v1/webhooks/{id}",
		Summary: "Delete one of your webhooks",
	}, h.remove)

	server.Register(one, server.Operation{
		Id: "test-webhook", Route: "POST /v1/webhooks/{id}/test",
		Summary:     "Send a test event of type webhook.test",
		Description: "Sent once, even while the webhook is paused. The response contains the outcome; if that takes too long, `test.at` is null and the webhook shows it later.",
	}, h.test)

	server.Register(one, server.Operation{
		Id: "rotate-webhook", Route: "POST /v1/webhooks/{id}/rotate",
		Summary:     "Rotate the secret of one of your webhooks",
		Description: "The response contains the new secret, shown only once. For overlap_seconds each message is also signed with the old secret.",
	}, h.rotate)

	server.Register(one, server.Operation{
		Id: "replay-webhook", Route: "POST /v1/webhooks/{id}/replay",
		Summary: "Resend the events after a position",
		Description: "The position is an `id` from the event stream or a webhook's `cursor`. Sends all later events that are visible to you now, in order. " +
			"`CURSOR_GONE`: the later events are deleted or too many; start from `details.oldest`. The token also needs the scope `read`.",
		Faults: []fault.Code{fault.CursorGone},
	}, h.replay)
}

// WebhookPath names one of the caller's webhooks. Like all embedded types here it is exported for huma to see its
// fields.
type WebhookPath struct {
	ID string `path:"id" example:"4" doc:"Webhook ID"`
}

type createInput struct {
	server.Keyed
	Body struct {
		Address   string   `json:"address" minLength:"8" maxLength:"2000" doc:"An https URL"`
		Workloads []string `json:"workloads,omitempty" maxItems:"10" enum:"delivery,task,download,transaction" doc:"Workloads whose events are sent, without duplicates; omitted or empty: all"`
	} `nameHint:"WebhookRequest"`
}

type changeInput struct {
	WebhookPath
	Body struct {
		Address   string    `json:"address,omitempty" minLength:"8" maxLength:"2000" doc:"An https URL"`
		Workloads *[]string `json:"workloads,omitempty" maxItems:"10" enum:"delivery,task,download,transaction" doc:"Workloads whose events are sent, without duplicates; empty: all"`
		State     string    `json:"state,omitempty" enum:"ACTIVE,PAUSED"`
	} `nameHint:"WebhookChange"`
}

type rotateInput struct {
	WebhookPath
	Body *webhookRotation `nameHint:"WebhookRotation"`
}

type webhookRotation struct {
	OverlapSeconds *int64 `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" default:"86400" doc:"How long the old secret also signs"`
}

type replayInput struct {
	WebhookPath
	Body struct {
		Cursor string `json:"cursor" maxLength:"100" example:"812-90" doc:"Position after which to start"`
	} `nameHint:"WebhookReplay"`
}

// overlap is how long a webhook's old secret also signs, by default.
const overlap = 24 * time.Hour

func (h *handlers) create(ctx context.Context, in *createInput) (none shape.Webhook, err error) {
	if err := h.mayRead(ctx, in.Body.Workloads); err != nil {
		return none, err
	}

	who := server.PrincipalOf(ctx)
	request := core.Request{UserID: who.User.ID, TokenID: who.Maker().TokenID, Key: in.Key}
	made, fresh, err := h.webhooks.Create(ctx, request, in.Body.Address, in.Body.Workloads)
	if !fresh {
		return h.shown(ctx, made, err, webhookFrom)
	}
	return server.Shown(made, err, withSecret)
}

// mayRead refuses a token that may not read events, and duplicate workloads.
func (h *handlers) mayRead(ctx context.Context, workloads []string) error {
	for i, workload := range workloads {
		if slices.Contains(workloads[:i], workload) {
			return fault.Invalid("workloads", "%s is listed twice", workload)
		}
	}
	return server.PrincipalOf(ctx).Require(account.ScopeRead)
}

func (h *handlers) list(ctx context.Context, in *struct{ server.Paging }) (none shape.Page[shape.Webhook], err error) {
	page, err := server.ListOf(in.Paging, webhooksCursor, func(after int64, limit int) ([]hooks.Webhook, error) {
		return h.Store.Webhooks.List(ctx, server.Caller(ctx).ID, after, limit)
	}, func(w hooks.Webhook) int64 { return w.ID }, webhookFrom)
	if err != nil {
		return none, err
	}
	return page, h.showBehind(ctx, page.Items)
}

// showBehind fills in how far webhooks lag behind, in one statement.
func (h *handlers) showBehind(ctx context.Context, webhooks []shape.Webhook) error {
	var ids []int64
	for _, one := range webhooks {
		id, _ := shape.ParseID(one.ID)
		ids = append(ids, id)
	}

	if len(ids) == 0 {
		return nil
	}

	since, err := h.Store.Webhooks.BehindSince(ctx, ids)
	for i, id := range ids {
		if at, behind := since[id]; behind {
			webhooks[i].BehindSince = shape.OptionalTime(&at)
		}
	}
	return err
}

// shown shows the current webhook.
func (h *handlers) shown(
	ctx context.Context, w hooks.Webhook, err error, show func(hooks.Webhook) shape.Webhook,
) (none shape.Webhook, _ error) {
	if err != nil {
		return none, err
	}
	one := []shape.Webhook{show(w)}
	return one[0], h.showBehind(ctx, one)
}

func (h *handlers) get(ctx context.Context, in *WebhookPath) (shape.Webhook, error) {
	found, err := h.Store.Webhooks.ByID(ctx, server.Caller(ctx).ID, server.PathID(in.ID))
	return h.shown(ctx, found, err, webhookFrom)
}

func (h *handlers) change(ctx context.Context, in *changeInput) (none shape.Webhook, err error) {
	id, user, token, asked := server.PathID(in.ID), server.Caller(ctx).ID, server.PrincipalOf(ctx).Maker().TokenID, in.Body
	if err := h.mayRead(ctx, shape.Value(asked.Workloads)); err != nil {
		return none, err
	}

	found, err := h.Store.Webhooks.ByID(ctx, user, id)
	if asked.Address != "" || asked.Workloads != nil {
		found, err = h.webhooks.Change(ctx, user, id, hooks.Change{
			Address: optional(asked.Address), Workloads: shape.Value(asked.Workloads), TokenID: token,
		})
	}

	if err != nil {
		return none, err
	}

	switch asked.State {
	case "PAUSED":
		found, err = h.webhooks.Pause(ctx, user, id)
	case "ACTIVE":
		found, err = h.webhooks.Resume(ctx, user, id, token)
	}
	return h.shown(ctx, found, err, webhookFrom)
}

// optional returns nil for a missing text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (h *handlers) remove(ctx context.Context, in *WebhookPath) error {
	return h.webhooks.Remove(ctx, server.Caller(ctx).ID, server.PathID(in.ID))
}

func (h *handlers) test(ctx context.Context, in *WebhookPath) (shape.Webhook, error) {
	tested, err := h.webhooks.Test(ctx, server.Caller(ctx).ID, server.PathID(in.ID))
	return h.shown(ctx, tested, err, webhookFrom)
}

func (h *handlers) rotate(ctx context.Context, in *rotateInput) (shape.Webhook, error) {
	lasts := overlap
	if asked := shape.Value(in.Body).OverlapSeconds; asked != nil {
		lasts = time.Duration(*asked) * time.Second
	}
	rotated, err := h.webhooks.Rotate(ctx, server.Caller(ctx).ID, server.PathID(in.ID), lasts)
	return h.shown(ctx, rotated, err, withSecret)
}

func (h *handlers) replay(ctx context.Context, in *replayInput) (none shape.Webhook, err error) {
	if err := h.mayRead(ctx, nil); err != nil {
		return none, err
	}

	from, err := core.ParseCursor(strings.TrimSpace(in.Body.Cursor))
	if err != nil {
		return none, fault.Invalid("cursor", "this is not the id of an event")
	}

	user, id := server.Caller(ctx).ID, server.PathID(in.ID)
	if _, err := h.Store.Webhooks.ByID(ctx, user, id); err != nil {
		return none, err
	}
	if err := h.places.Check(ctx, from); err != nil {
		return none, err
	}

	replayed, err := h.webhooks.Replay(ctx, user, id, from)
	return h.shown(ctx, replayed, err, webhookFrom)
}

// webhookFrom shows a webhook to its owner.
func webhookFrom(w hooks.Webhook) shape.Webhook {
	shown := shape.Webhook{
		ID: shape.ID(w.ID), Address: w.Address, Workloads: w.Workloads, State: w.State, Reason: shape.Optional(w.Reason),
		Cursor: w.Cursor().String(), EventsLost: w.EventsLost,
		FailingSince: shape.OptionalTime(w.FailingSince), LastError: shape.Optional(string(w.LastError)),
		DeliveredAt: shape.OptionalTime(w.DeliveredAt), Test: testFrom(w),
		CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}

	if len(w.Secrets) > 1 {
		shown.PreviousSecretUntil = shape.OptionalTime(w.PreviousUntil)
	}
	return shown
}

// withSecret shows a webhook with its new secret.
func withSecret(w hooks.Webhook) shape.Webhook {
	shown := webhookFrom(w)
	shown.Secret = w.Secrets[0]
	return shown
}

// testFrom shows the last test event; nil if none was requested.
func testFrom(w hooks.Webhook) *shape.WebhookTest {
	if w.TestAskedAt == nil {
		return nil
	}
	test := shape.WebhookTest{AskedAt: w.TestAskedAt.UTC()}
	if !w.Testing() {
		test.At, test.Error = shape.OptionalTime(w.TestedAt), shape.Optional(string(w.TestError))
	}
	return &test
}
