package service

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// Finish ends a live job other than by delivery, or as delivered when it is known to be. A job that has its end already keeps it: the
// answer says which, so that a repeated or late call changes nothing.
func (c *Deliveries) Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	ended := false
	job, err := c.Store.ChangeJob(ctx, end.JobID, func(walk *store.JobWalk) error {
		if ended = !walk.Terminal(); !ended {
			return nil
		}

		steps := DeliverySteps{walk}
		if end.Action == lifecycle.DeliveryActionAcknowledge {
			return steps.deliveredBefore()
		}
		return steps.finish(end.Action, end.Reason)
	})
	if err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}

	if ended {
		c.countEnd(job)
	}
	return lifecycle.DeliveryOutcome{State: job.State, Reason: fault.Code(job.LastError)}, nil
}

// Lose puts a job back into the queue whose worker was lost in this claim, or ends it where no attempt is left or the last bytes were
// out. It takes the claim away, so that a worker that was only frozen can write and send nothing when it wakes. receipt is Telegram's,
// as the last heartbeat had it (0: none); next is when the next attempt begins. A job whose heartbeat is younger than age is not lost.
func (c *Deliveries) Lose(ctx context.Context, silent store.SilentJob, age time.Duration, receipt int64, next *time.Time) (job store.Job, changed bool, err error) {
	job, err = c.Store.ChangeJob(ctx, silent.ID, func(walk *store.JobWalk) error {
		job := walk.Row
		changed = job.Claim == silent.Claim && job.HeartbeatAt != nil && job.Now.Sub(*job.HeartbeatAt) >= age &&
			job.State != lifecycle.DeliveryQueued && !walk.Terminal()
		if !changed {
			return nil
		}

		job.Claim++
		return DeliverySteps{walk}.lose(receipt, next)
	})
	if err != nil || !changed {
		return job, false, err
	}

	if lifecycle.Delivery.Terminal(job.State) {
		c.countEnd(job)
	}
	return job, true, nil
}

func (c *Deliveries) countEnd(job store.Job) {
	if c.OnEnded != nil {
		c.OnEnded(job.State)
	}
}
