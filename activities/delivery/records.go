package delivery

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// Finisher ends live jobs. It is deliveries.Service.
type Finisher interface {
	RequestCancel(ctx context.Context, r lifecycle.DeliveryCancel) error
	Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error)
}

// Records writes the ends decided by the workflows, and the requests for them.
type Records struct{ Deliveries Finisher }

// FinishJob ends a live job. Idempotent, even if late.
func (r *Records) FinishJob(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	outcome, err := r.Deliveries.Finish(ctx, end)
	if err != nil {
		return lifecycle.DeliveryOutcome{}, temporalio.ActivityError(ctx, temporalio.FaultOf(err))
	}
	return outcome, nil
}

// CancelJob decides a request to cancel a live job, which the workflow then ends. Idempotent.
func (r *Records) CancelJob(ctx context.Context, request lifecycle.DeliveryCancel) (done bool, err error) {
	if err := r.Deliveries.RequestCancel(ctx, request); err != nil {
		return false, temporalio.RequestError(ctx, err)
	}
	return true, nil
}
