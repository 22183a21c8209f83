package deliveries

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const (
	deliveriesCursor = "deliveries"

	// startTime is how long a new delivery's workflow may take to start before the answer. The delivery is recorded by
	// then; the reconciler starts what could not be started.
	startTime = 5 * time.Second
)

type createDeliveryInput struct {
	Key  string `header:"Idempotency-Key" required:"true" pattern:"^[!-~]{1,255}$" patternDescription:"1 to 255 visible ASCII characters" example:"b5f0" doc:"The same key and file again give the delivery that is there"`
	Body struct {
		FileID string `json:"file_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a file" example:"42"`
	} `nameHint:"DeliveryRequest"`
}

type listDeliveriesInput struct {
	server.Paging
	State string `query:"state" enum:"QUEUED,CLAIMED,DOWNLOADING,STREAMING,DELIVERED,FAILED,CANCELLED,EXPIRED" doc:"Only those in this state"`
}

type deliveryInput struct {
	ID string `path:"id" example:"17" doc:"The id of a delivery"`
}

type cancelDeliveryInput struct {
	server.Tried
	ID string `path:"id" example:"17" doc:"The id of a delivery"`
}

// handlers answer the operations of deliveries and of the shared folder.
type handlers struct {
	*server.Server
	deliveries *service.Deliveries
	files      *catalog.Catalog
}

// Register adds the operations of deliveries and of the shared folder to an API.
func Register(s *server.Server, deliveries *service.Deliveries, files *catalog.Catalog) {
	h := &handlers{Server: s, deliveries: deliveries, files: files}
	maps.Copy(s.Kinds, kinds)
	s.Hide(fault.DeliveryNotFound, func(ctx context.Context, id int64) error {
		_, err := s.Store.Deliveries.ByID(ctx, id)
		return err
	})

	h.registerDeliveries()

	shared := server.Group{Server: s, Tag: "Files", Access: server.ForUsers, Scope: account.ScopeFiles}
	server.Register(shared, server.Operation{
		Id: "list-files", Route: "GET /v1/files",
		Summary: "Browse the shared folder, or search it",
		Description: "Folders stand before files, except in a folder of more than 1,000 entries: that one is in the order of names alone. " +
			"Give either `path` or `q`.",
		Faults: []fault.Code{
			fault.FileNotFound, fault.YandexUnavailable, fault.YandexUnauthorized,
		},
	}, h.listFiles)
}

// registerDeliveries adds the operations of deliveries.
func (h *handlers) registerDeliveries() {
	deliveries := server.Group{
		Server: h.Server, Tag: "Deliveries", Access: server.ForUsers, Scope: account.ScopeRead, Subject: "delivery",
	}

	server.RegisterRaw(deliveries, server.Operation{
		Id: "create-delivery", Route: "POST /v1/deliveries", Scope: lifecycle.DeliveryScope,
		Status: http.StatusCreated, Also: http.StatusOK,
		Summary:     "Ask for a file to be sent to your Telegram chat",
		Description: "201 when this made a delivery, 200 when the same key and file had made it before.",
		Faults: []fault.Code{
			fault.FileNotFound, fault.FileIsFolder, fault.FileEmpty, fault.FileTooBig,
			fault.NoTelegramChat, fault.QuotaExceeded,
		},
	}, h.createDelivery)

	server.Register(deliveries, server.Operation{
		Id: "list-deliveries", Route: "GET /v1/deliveries",
		Summary:     "List deliveries, the newest first",
		Description: "Your own; everybody's for an administrator.",
	}, h.listDeliveries)

	server.Register(deliveries, server.Operation{
		Id: "get-delivery", Route: "GET /v1/deliveries/{id}",
		Summary: "Get a delivery", Faults: []fault.Code{fault.DeliveryNotFound},
	}, h.getDelivery)

	server.Register(deliveries, server.Operation{
		Id: "list-delivery-events", Route: "GET /v1/deliveries/{id}/events",
		Summary: "What happened to a delivery, from the beginning", Faults: []fault.Code{fault.DeliveryNotFound},
	}, h.listDeliveryEvents)

	server.RegisterTried(deliveries, server.Operation{
		Id: "cancel-delivery", Route: "POST /v1/deliveries/{id}/cancel", Scope: lifecycle.DeliveryScope,
		Summary:     "Stop a delivery",
		Description: "Answers with the delivery as it ended. When the stream needs longer to stop, it is still live in the answer, with `cancel_requested`.",
		Faults:      []fault.Code{fault.DeliveryNotFound, fault.InvalidTransition, fault.TemporalUnavailable},
	}, h.cancelDelivery, h.tryCancel)
}

func (h *handlers) createDelivery(ctx context.Context, in *createDeliveryInput) (*server.Made[shape.Delivery], error) {
	user := server.Caller(ctx)
	fileID, ok := shape.ParseID(in.Body.FileID)
	if !ok {
		return nil, fault.Invalid("file_id", "this is not the id of a file")
	}

	patience, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()

	job, created, err := h.deliveries.Request(patience, user, fileID, in.Key, delivery.SourceAPI)
	if err != nil {
		return nil, err
	}

	body, err := h.deliveryOf(ctx, user, job)
	return server.MadeOf(body, created), err
}

func (h *handlers) listDeliveries(ctx context.Context, in *listDeliveriesInput) (shape.Page[shape.Delivery], error) {
	user := server.Caller(ctx)
	filter := delivery.Filter{UserID: user.ID, State: lifecycle.DeliveryState(in.State)}
	if user.IsAdmin() {
		filter.UserID = 0
	}

	var places map[int64]int
	return server.ListOf(in.Paging, deliveriesCursor, func(before int64, limit int) ([]delivery.Job, error) {
		filter.Before, filter.Limit = before, limit
		jobs, err := h.Store.Deliveries.List(ctx, filter)
		if err == nil {
			places, err = h.places(ctx, jobs...)
		}
		return jobs, err
	}, func(j delivery.Job) int64 { return j.ID }, func(j delivery.Job) shape.Delivery {
		return h.deliveryFor(user, places)(j)
	})
}

func (h *handlers) getDelivery(ctx context.Context, in *deliveryInput) (none shape.Delivery, err error) {
	job, err := h.findDelivery(ctx, in.ID)
	if err != nil {
		return none, err
	}
	return h.deliveryOf(ctx, server.Caller(ctx), job)
}

func (h *handlers) listDeliveryEvents(
	ctx context.Context, in *deliveryInput,
) (none shape.Page[shape.History], err error) {
	job, err := h.findDelivery(ctx, in.ID)
	if err != nil {
		return none, err
	}
	return h.Events(ctx, lifecycle.WorkloadDelivery, job.ID)
}

func (h *handlers) cancelDelivery(ctx context.Context, in *cancelDeliveryInput) (none shape.Delivery, err error) {
	user := server.Caller(ctx)
	job, err := h.deliveries.Cancel(ctx, user, server.PathID(in.ID))
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.deliveryOf(ctx, user, job)
}

func (h *handlers) tryCancel(ctx context.Context, in *cancelDeliveryInput) (shape.DryRun, error) {
	trial, err := h.deliveries.TryCancel(ctx, server.Caller(ctx), server.PathID(in.ID))
	return server.Shown(trial, h.Refusal(ctx, in.ID, err), server.DryRunFrom)
}

// findDelivery gives a delivery that the caller may see.
func (h *handlers) findDelivery(ctx context.Context, id string) (delivery.Job, error) {
	job, err := h.deliveries.Find(ctx, server.Caller(ctx), server.PathID(id))
	return job, h.Refusal(ctx, id, err)
}

// places finds the places in line, unless none of these jobs waits.
func (h *handlers) places(ctx context.Context, jobs ...delivery.Job) (map[int64]int, error) {
	if !slices.ContainsFunc(jobs, func(j delivery.Job) bool { return j.State == lifecycle.DeliveryQueued }) {
		return nil, nil
	}
	return h.Store.Deliveries.Line(ctx, 0)
}

func (h *handlers) deliveryOf(ctx context.Context, user account.User, job delivery.Job) (shape.Delivery, error) {
	places, err := h.places(ctx, job)
	return server.Shown(job, err, h.deliveryFor(user, places))
}

// deliveryFor shows deliveries, of which some have places in line, to a user.
func (h *handlers) deliveryFor(user account.User, places map[int64]int) func(delivery.Job) shape.Delivery {
	return func(j delivery.Job) shape.Delivery {
		body := shape.Delivery{
			ID: shape.ID(j.ID), UserID: shape.ID(j.UserID), State: j.State, Attempt: j.Attempt,
			FileID: shape.ID(j.FileID), FileName: j.FileName, Size: j.Size, BytesSent: j.BytesSent,
			LastError: shape.Optional(j.LastError), Source: j.Source, MessageID: shape.OptionalID(j.MessageID),
			CancelRequested: j.CancelRequestedAt != nil, AllowedActions: service.DeliveryActions(user, j),
			WorkflowID: j.WorkflowID(),
			WaitsFor:   shape.DeliveryWaitsFor(h.deliveries.Limits.WaitsForNextAttempt(j)),
			DeadlineAt: h.deliveries.Limits.Deadline(j), CreatedAt: j.CreatedAt.UTC(), UpdatedAt: j.UpdatedAt.UTC(),
		}

		if place, waits := places[j.ID]; waits {
			body.PlaceInLine = &place
		}

		if j.State == lifecycle.DeliveryQueued {
			body.NextAttemptAt = shape.OptionalTime(j.NextAttemptAt)
		}
		return body
	}
}
