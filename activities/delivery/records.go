package delivery

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// Finisher ends live jobs. It is service.Deliveries.
type Finisher interface {
	Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error)
}

// Records writes the ends that the workflows decide.
type Records struct{ Deliveries Finisher }

// FinishJob ends a live job. A repeated or late call changes nothing.
func (r *Records) FinishJob(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	outcome, err := r.Deliveries.Finish(ctx, end)
	if err != nil {
		return lifecycle.DeliveryOutcome{}, temporalio.ActivityError(ctx, temporalio.FaultOf(err))
	}
	return outcome, nil
}
