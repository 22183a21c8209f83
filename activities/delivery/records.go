package delivery

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/temporalio"
)

// Records writes what workflows decide.
type Records struct {
	Store      *store.Store
	Deliveries *service.Deliveries
}

// FinishJob ends a live job. A repeated or late call changes nothing.
func (r *Records) FinishJob(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	outcome, err := r.Deliveries.Finish(ctx, end)
	if err != nil {
		return lifecycle.DeliveryOutcome{}, temporalio.ActivityError(ctx, temporalio.FaultOf(err))
	}
	return outcome, nil
}
