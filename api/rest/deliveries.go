package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const (
	idempotencyKey   = "Idempotency-Key"
	deliveriesCursor = "deliveries"
	deliveryWorkload = "delivery" // in the record of events

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

type createDeliveryOutput struct {
	Status int
	Body   shape.Delivery
}

type listDeliveriesInput struct {
	Paging
	State string `query:"state" enum:"QUEUED,CLAIMED,DOWNLOADING,STREAMING,DELIVERED,FAILED,CANCELLED,EXPIRED" doc:"Only those in this state"`
}

type deliveryInput struct {
	ID string `path:"id" example:"17" doc:"The id of a delivery"`
}

var (
	createDelivery = operation{
		id: "create-delivery", method: http.MethodPost, path: "/v1/deliveries", tag: "Deliveries", access: forUsers,
		scope:   store.ScopeDeliveries,
		summary: "Ask for a file to be sent to your Telegram chat", status: http.StatusCreated, also: http.StatusOK,
		description: "201 when this made a delivery, 200 when the same key and file had made it before.",
		faults: []fault.Code{
			fault.IdempotencyKey, fault.FileNotFound, fault.FileIsFolder, fault.FileEmpty, fault.FileTooBig,
			fault.NoTelegramChat, fault.QuotaExceeded,
		},
	}
	listDeliveries = operation{
		id: "list-deliveries", method: http.MethodGet, path: "/v1/deliveries", tag: "Deliveries", access: forUsers,
		scope:   store.ScopeRead,
		summary: "List deliveries, the newest first", description: "Your own; everybody's for an administrator.",
	}
	getDelivery = operation{
		id: "get-delivery", method: http.MethodGet, path: "/v1/deliveries/{id}", tag: "Deliveries", access: forUsers,
		scope: store.ScopeRead, subject: "delivery",
		summary: "Look at a delivery", faults: []fault.Code{fault.DeliveryNotFound},
	}
	listDeliveryEvents = operation{
		id: "list-delivery-events", method: http.MethodGet, path: "/v1/deliveries/{id}/events", tag: "Deliveries",
		access: forUsers, scope: store.ScopeRead, subject: "delivery",
		summary: "What happened to a delivery, from the beginning", faults: []fault.Code{fault.DeliveryNotFound},
	}
	cancelDelivery = operation{
		id: "cancel-delivery", method: http.MethodPost, path: "/v1/deliveries/{id}/cancel", tag: "Deliveries",
		access: forUsers, scope: store.ScopeDeliveries, subject: "delivery",
		summary:     "Stop a delivery",
		description: "Answers with the delivery as it ended. When the stream needs longer to stop, it is still live in the answer, with `cancel_requested`.",
		faults:      []fault.Code{fault.DeliveryNotFound, fault.InvalidTransition, fault.TemporalUnavailable},
	}
)

func (s *server) registerDeliveries() {
	register(s, createDelivery, s.createDelivery)
	register(s, listDeliveries, s.listDeliveries)
	register(s, getDelivery, s.getDelivery)
	register(s, listDeliveryEvents, s.listDeliveryEvents)
	register(s, cancelDelivery, s.cancelDelivery)
}

func (s *server) createDelivery(ctx context.Context, in *createDeliveryInput) (*createDeliveryOutput, error) {
	user := caller(ctx)
	fileID, ok := parseID(in.Body.FileID)
	if !ok {
		return nil, fault.New(fault.Validation, "this is not the id of a file").WithField("file_id")
	}

	patience, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()

	job, created, err := s.o.Deliveries.Request(patience, user, fileID, in.Key, store.SourceAPI)
	if err != nil {
		return nil, err
	}

	out := &createDeliveryOutput{Status: http.StatusOK}
	if created {
		out.Status = http.StatusCreated
	}

	out.Body, err = s.deliveryOf(ctx, user, job)
	return out, err
}

func (s *server) listDeliveries(
	ctx context.Context, in *listDeliveriesInput,
) (*answer[shape.Page[shape.Delivery]], error) {
	user := caller(ctx)
	filter := store.JobFilter{UserID: user.ID, State: lifecycle.DeliveryState(in.State)}
	if user.IsAdmin() {
		filter.UserID = 0
	}

	var places map[int64]int
	return listOf(in.Paging, deliveriesCursor, func(before int64, limit int) ([]store.Job, error) {
		filter.Before, filter.Limit = before, limit
		jobs, err := s.o.Store.Jobs(ctx, filter)
		if err == nil {
			places, err = s.places(ctx, jobs...)
		}
		return jobs, err
	}, func(j store.Job) int64 { return j.ID }, func(j store.Job) shape.Delivery { return s.deliveryFrom(user, j, places) })
}

func (s *server) getDelivery(ctx context.Context, in *deliveryInput) (*answer[shape.Delivery], error) {
	job, err := s.findDelivery(ctx, getDelivery, in.ID)
	if err != nil {
		return nil, err
	}
	body, err := s.deliveryOf(ctx, caller(ctx), job)
	return answered(body), err
}

func (s *server) listDeliveryEvents(
	ctx context.Context, in *deliveryInput,
) (*answer[shape.Page[shape.History]], error) {
	job, err := s.findDelivery(ctx, listDeliveryEvents, in.ID)
	if err != nil {
		return nil, err
	}
	events, err := s.o.Store.EventsOf(ctx, deliveryWorkload, formatID(job.ID))
	if err != nil {
		return nil, err
	}
	return answered(pageOf("", len(events), events, nil, historyFrom)), nil
}

func (s *server) cancelDelivery(ctx context.Context, in *deliveryInput) (*answer[shape.Delivery], error) {
	user := caller(ctx)
	job, err := s.findDelivery(ctx, cancelDelivery, in.ID)
	if err != nil {
		return nil, err
	}
	if job, err = s.o.Deliveries.Cancel(ctx, user, job.ID); err != nil {
		return nil, err
	}

	if job.UserID != user.ID {
		s.audit(ctx, user, cancelDelivery, in.ID, store.OutcomeDone)
	}

	body, err := s.deliveryOf(ctx, user, job)
	return answered(body), err
}

// findDelivery gives a delivery that the caller may see. To reach for another's is audited, though it is answered as if
// there were none.
func (s *server) findDelivery(ctx context.Context, op operation, id string) (store.Job, error) {
	jobID, ok := parseID(id)
	if !ok {
		return store.Job{}, fault.New(fault.DeliveryNotFound, "there is no such delivery")
	}

	user := caller(ctx)
	job, err := s.o.Deliveries.Find(ctx, user, jobID)
	if fault.CodeOf(err) == fault.DeliveryNotFound {
		if _, missing := s.o.Store.JobByID(ctx, jobID); missing == nil {
			s.audit(ctx, user, op, id, store.OutcomeRefused)
		}
	}

	return job, err
}

// places finds the places in line of those jobs that wait.
func (s *server) places(ctx context.Context, jobs ...store.Job) (map[int64]int, error) {
	var waiting []int64
	for _, job := range jobs {
		if job.State == lifecycle.DeliveryQueued {
			waiting = append(waiting, job.ID)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	return s.o.Store.PlacesInLine(ctx, waiting)
}

func (s *server) deliveryOf(ctx context.Context, user store.User, job store.Job) (shape.Delivery, error) {
	places, err := s.places(ctx, job)
	return s.deliveryFrom(user, job, places), err
}

func (s *server) deliveryFrom(user store.User, j store.Job, places map[int64]int) shape.Delivery {
	body := shape.Delivery{
		ID: formatID(j.ID), UserID: formatID(j.UserID), State: j.State, Attempt: j.Attempt,
		FileID: formatID(j.FileID), FileName: j.FileName, Size: j.Size, BytesSent: j.BytesSent,
		LastError: optional(j.LastError), Source: j.Source, MessageID: formatOptionalID(j.MessageID),
		CancelRequested: j.CancelRequestedAt != nil, AllowedActions: service.DeliveryActions(user, j),
		WorkflowID: j.WorkflowID(),
		DeadlineAt: s.o.Deliveries.Limits.Deadline(j), CreatedAt: utc(j.CreatedAt), UpdatedAt: utc(j.UpdatedAt),
	}

	if place, waits := places[j.ID]; waits {
		body.PlaceInLine = &place
	}

	if j.State == lifecycle.DeliveryQueued {
		body.NextAttemptAt = optionalUTC(j.NextAttemptAt)
	}
	return body
}
