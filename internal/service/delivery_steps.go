package service

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// DeliverySteps are the transitions of a locked job, with the effect of each on the row.
type DeliverySteps struct {
	*delivery.JobWalk
}

// Do takes one action as the system. comment is a fault code or empty.
func (s DeliverySteps) Do(action lifecycle.DeliveryAction, comment fault.Code) error {
	return s.Take(delivery.JobStep{Action: action, Comment: string(comment)})
}

// Requeue puts the job back after an attempt that failed with code and ended at the given time. next is when the next
// attempt begins; nil: unknown.
func (s DeliverySteps) Requeue(code fault.Code, ended time.Time, next *time.Time) error {
	if err := s.Do(lifecycle.DeliveryActionRequeue, code); err != nil {
		return err
	}
	s.endTry(code, ended)
	s.Row.NextAttemptAt = next
	return nil
}

// HandOver puts the job back without counting the attempt. A reason is given when an operator caused it. It is refused once
// the last bytes were sent.
func (s DeliverySteps) HandOver(reason fault.Code, next *time.Time) error {
	if s.Row.AckPendingAt != nil {
		return UnknownOutcome()
	}
	if err := s.Do(lifecycle.DeliveryActionHandOver, reason); err != nil {
		return err
	}

	s.Row.Busy += max(0, s.Row.HeartbeatAt.Sub(*s.Row.ClaimedAt))
	s.Row.NextAttemptAt = next
	if reason != "" {
		s.Row.LastError = string(reason)
	}
	return nil
}

// TakeOver puts a job back that the attempt before still holds. When Temporal counts attempts from the beginning, an
// operator has reset the activity or the workflow, and the attempt was not lost.
func (s DeliverySteps) TakeOver(reset bool) error {
	if reset {
		return s.HandOver(fault.ResetByOperator, nil)
	}
	return s.Requeue(fault.WorkerLost, *s.Row.HeartbeatAt, nil)
}

// Claim takes the job for an attempt. The new fencing token refuses writes of all earlier holders.
func (s DeliverySteps) Claim() error {
	if err := s.Do(lifecycle.DeliveryActionClaim, ""); err != nil {
		return err
	}
	job := s.Row
	job.Claim++
	job.ClaimedAt, job.HeartbeatAt, job.BytesSent, job.NextAttemptAt = &job.Now, &job.Now, 0, nil
	if isOperators(fault.Code(job.LastError)) {
		job.LastError = "" // the job is in progress again
	}
	return nil
}

// isOperators reports whether an operator, and no failure, put a job back into the queue.
func isOperators(reason fault.Code) bool {
	return reason == fault.PausedByOperator || reason == fault.ResetByOperator
}

// SettleLost decides about a job whose worker was lost after the last bytes were sent: only a receipt proves a
// delivery. 0: there is no receipt.
func (s DeliverySteps) SettleLost(receipt int64) error {
	if receipt == 0 {
		return UnknownOutcome()
	}
	return s.Acknowledge(receipt, "")
}

// Acknowledge records Telegram's receipt.
func (s DeliverySteps) Acknowledge(message int64, fileID string) error {
	s.Row.MessageID, s.Row.TelegramFileID = &message, fileID
	s.Row.AckPendingAt, s.Row.LastError, s.Row.BytesSent = nil, "", s.Row.Size
	return s.Do(lifecycle.DeliveryActionAcknowledge, "")
}

// deliveredBefore records a delivery that the record was set back before. Its message is unknown.
func (s DeliverySteps) deliveredBefore() error {
	unknown := int64(0)
	s.Row.MessageID, s.Row.AckPendingAt, s.Row.LastError, s.Row.BytesSent = &unknown, nil, "", s.Row.Size
	return s.Do(lifecycle.DeliveryActionFindDelivered, "")
}

// finish ends the job without delivery: cancelled, expired, or failed with a reason. What the record knows wins: a job
// whose last bytes were sent without an answer fails with an unknown outcome, whichever action ends it.
func (s DeliverySteps) finish(action lifecycle.DeliveryAction, reason fault.Code) error {
	if s.Row.AckPendingAt != nil {
		action, reason = lifecycle.DeliveryActionFail, fault.OutcomeUnknown
	}

	held := s.Row.State != lifecycle.DeliveryQueued
	if held && action == lifecycle.DeliveryActionExpire { // its worker was lost, and no other has taken it
		if s.Requeue(fault.WorkerLost, *s.Row.HeartbeatAt, nil) != nil {
			action, reason = lifecycle.DeliveryActionFail, fault.WorkerLost
		}
	}

	if held && action == lifecycle.DeliveryActionFail {
		s.endTry(reason, s.Row.Now)
	}

	s.Row.LastError = string(reason)
	return s.Do(action, reason)
}

// endTry counts a failed attempt and its duration.
func (s DeliverySteps) endTry(code fault.Code, ended time.Time) {
	s.Row.Attempt = min(s.Row.Attempt+1, lifecycle.DeliveryTries)
	s.Row.LastError = string(code)
	s.Row.Busy += max(0, ended.Sub(*s.Row.ClaimedAt))
	s.Row.AckPendingAt = nil
}

// lose records the loss of the job's worker.
func (s DeliverySteps) lose(receipt int64, next *time.Time) error {
	if s.Row.AckPendingAt != nil {
		if s.SettleLost(receipt) == nil {
			return nil
		}
		return s.finish(lifecycle.DeliveryActionFail, fault.OutcomeUnknown)
	}
	if s.Requeue(fault.WorkerLost, *s.Row.HeartbeatAt, next) == nil {
		return nil
	}
	return s.finish(lifecycle.DeliveryActionFail, fault.WorkerLost)
}

// UnknownOutcome is the failure of a delivery whose last bytes were sent without an answer.
func UnknownOutcome() *fault.Error {
	return fault.New(fault.OutcomeUnknown, "the file was sent but no answer came: it may have arrived")
}

// Finish ends a live job other than by delivery, or as delivered when that is known. A job that has ended keeps its
// end, and the outcome says which one: a repeated or late call changes nothing.
func (c *Deliveries) Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	ended := false
	job, err := c.Store.ChangeJob(ctx, end.JobID, func(walk *delivery.JobWalk) error {
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

// Lose puts a job back into the queue whose worker was lost in this claim. It ends the job instead when no attempt is
// left or the last bytes were sent. It takes the claim away, so that a worker that was only frozen can neither write
// nor send when it resumes. receipt is Telegram's, from the last heartbeat (0: none); next is when the next attempt
// begins. A job whose heartbeat is younger than age is not lost.
func (c *Deliveries) Lose(
	ctx context.Context, silent delivery.LiveJob, age time.Duration, receipt int64, next *time.Time,
) (job delivery.Job, changed bool, err error) {
	job, err = c.Store.ChangeJob(ctx, silent.ID, func(walk *delivery.JobWalk) error {
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

func (c *Deliveries) countEnd(job delivery.Job) {
	if c.OnEnded != nil {
		c.OnEnded(job.State)
	}
}
