package service

import (
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// DeliveryLimits are how long a job may wait and be worked on.
type DeliveryLimits struct {
	TTL        time.Duration // QUEUED for no longer
	JobTimeout time.Duration // in workers' hands, over all attempts
}

// Deadline is when the job's state ends by itself; nil: it does not, because the job has ended or an operator has paused it.
func (l DeliveryLimits) Deadline(job store.Job) *time.Time {
	var at time.Time
	switch {
	case lifecycle.Delivery.Terminal(job.State), job.State == lifecycle.DeliveryQueued && job.LastError == string(fault.PausedByOperator):
		return nil
	case job.State != lifecycle.DeliveryQueued:
		at = job.ClaimedAt.Add(l.JobTimeout - job.Busy)
	case job.Claim == 0:
		at = job.CreatedAt.Add(l.TTL)
	case job.NextAttemptAt != nil:
		at = job.NextAttemptAt.Add(l.TTL)
	default:
		at = job.UpdatedAt.Add(l.TTL)
	}
	at = at.UTC()
	return &at
}
