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
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const (
	deliveriesCursor = "deliveries"

	// startTime is how long the response waits for a new delivery's workflow to start. The delivery is already recorded;
	// the reconciler starts what could not be started.
	startTime = 5 * time.Second
)

type createDeliveryInput struct {
	Key  string `header:"Idempotency-Key" required:"true" pattern:"^[!-~]{1,255}$" patternDescription:"1 to 255 visible ASCII characters" example:"b5f0" doc:"Repeating a key with the same file returns the existing delivery"`
	Body struct {
		FileID string `json:"file_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a file" example:"42"`
	} `nameHint:"DeliveryRequest"`
}

type listDeliveriesInput struct {
	server.Paging
	State string `query:"state" enum:"QUEUED,CLAIMED,DOWNLOADING,STREAMING,DELIVERED,FAILED,CANCELLED,EXPIRED" doc:"Only deliveries in this state"`
}

type deliveryInput struct {
	ID string `path:"id" example:"17" doc:"Delivery ID"`
}

type cancelDeliveryInput struct {
	server.Keyed
	ID string `path:"id" example:"17" doc:"Delivery ID"`
}

// handlers implement the operations on deliveries and the shared folder.
type handlers struct {
	*server.Server
	deliveries *deliveries.Service
	files      *catalog.Catalog
}

// Register adds the operations on deliveries and the shared folder to an API.
func Register(s *server.Server, deliveries *deliveries.Service, files *catalog.Catalog) {
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
		Summary: "Browse or search the shared folder",
		Description: "Folders come before files; a folder of more than 1,000 entries is sorted by name only. " +
			"Pass either `path` or `q`.",
		Faults: []fault.Code{
			fault.FileNotFound, fault.YandexUnavailable, fault.YandexUnauthorized,
		},
	}, h.listFiles)
}

// registerDeliveries adds the operations on deliveries.
func (h *handlers) registerDeliveries() {
	deliveries := server.Group{
		Server: h.Server, Tag: "Deliveries", Access: server.ForUsers, Scope: account.ScopeRead, Subject: "delivery",
	}

	server.RegisterRaw(deliveries, server.Operation{
		Id: "create-delivery", Route: "POST /v1/deliveries", Scope: lifecycle.DeliveryScope,
		Status: http.StatusCreated, Also: http.StatusOK,
		Summary:     "Send a file to your Telegram chat",
		Description: "201: a new delivery; 200: the existing delivery for the same key and file.",
		Faults: []fault.Code{
			fault.FileNotFound, fault.FileIsFolder, fault.FileEmpty, fault.FileTooBig,
			fault.NoTelegramChat, fault.QuotaExceeded,
		},
	}, h.createDelivery)

	server.Register(deliveries, server.Operation{
		Id: "list-deliveries", Route: "GET /v1/deliveries",
		Summary:     "List deliveries, newest first",
		Description: "Your own; for administrators, everyone's.",
	}, h.listDeliveries)

	server.Register(deliveries, server.Operation{
		Id: "get-delivery", Route: "GET /v1/deliveries/{id}",
		Summary: "Get a delivery", Faults: []fault.Code{fault.DeliveryNotFound},
	}, h.getDelivery)

	server.Register(deliveries, server.Operation{
		Id: "list-delivery-events", Route: "GET /v1/deliveries/{id}/events",
		Summary: "List the events of a delivery, oldest first", Faults: []fault.Code{fault.DeliveryNotFound},
	}, h.listDeliveryEvents)

	server.Register(deliveries, server.Operation{
		Id: "cancel-delivery", Route: "POST /v1/deliveries/{id}/cancel", Scope: lifecycle.DeliveryScope,
		Summary: "Cancel a delivery",
		Description: "Returns the delivery in its final state. Returns 503 while the stream is still stopping: the delivery has `cancel_requested`, " +
			"and repeating the request with the same key returns its final state.",
		Faults: []fault.Code{fault.DeliveryNotFound, fault.InvalidTransition, fault.TemporalUnavailable, fault.WorkflowPaused},
	}, h.cancelDelivery)
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
	job, err := h.deliveries.Cancel(ctx, user, server.PathID(in.ID), in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	if job.UserID != user.ID {
		h.Done(ctx, in.ID)
	}
	return h.deliveryOf(ctx, user, job)
}

// findDelivery returns a delivery that the caller may see.
func (h *handlers) findDelivery(ctx context.Context, id string) (delivery.Job, error) {
	job, err := h.deliveries.Find(ctx, server.Caller(ctx), server.PathID(id))
	return job, h.Refusal(ctx, id, err)
}

// places finds the queue positions, unless none of these jobs waits.
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

// deliveryFor shows deliveries, some of which have queue positions, to a user.
func (h *handlers) deliveryFor(user account.User, places map[int64]int) func(delivery.Job) shape.Delivery {
	return func(j delivery.Job) shape.Delivery {
		body := shape.Delivery{
			ID: shape.ID(j.ID), UserID: shape.ID(j.UserID), State: j.State, Attempt: j.Attempt,
			FileID: shape.ID(j.FileID), FileName: j.FileName, Size: j.Size, BytesSent: j.BytesSent,
			LastError: shape.Optional(j.LastError), Source: j.Source, MessageID: shape.OptionalID(j.MessageID),
			CancelRequested: j.CancelRequestedAt != nil, AllowedActions: deliveries.Actions(user, j),
			WorkflowID: j.WorkflowID(),
			WaitsFor:   shape.Optional(h.deliveries.Limits.WaitsFor(j)),
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
