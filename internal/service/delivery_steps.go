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

// Requeue puts the job back after a try that failed with code, so that failed tries have failed by now. next is when the
// next attempt begins; nil: unknown.
func (s DeliverySteps) Requeue(code fault.Code, failed int, next *time.Time) error {
	if err := s.Do(lifecycle.DeliveryActionRequeue, code); err != nil {
		return err
	}
	s.endTry(code, failed)
	s.Row.NextAttemptAt = next
	return nil
}

// HandOver puts the job back after an attempt that has not failed. A reason is given when an operator caused it. It is
// refused once the last bytes were sent.
func (s DeliverySteps) HandOver(reason fault.Code) error {
	if s.Row.AckPendingAt != nil {
		return UnknownOutcome()
	}
	if err := s.Do(lifecycle.DeliveryActionHandOver, reason); err != nil {
		return err
	}

	s.Row.NextAttemptAt = nil
	if reason != "" {
		s.Row.LastError = string(reason)
	}
	return nil
}

// Claim takes the job for an attempt, before which failed tries have failed. The new fencing token refuses writes of all
// earlier holders.
func (s DeliverySteps) Claim(failed int) error {
	if err := s.Do(lifecycle.DeliveryActionClaim, ""); err != nil {
		return err
	}
	job := s.Row
	job.Claim++
	job.Attempt = failed
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

// deliveredBefore records a delivery that the record does not have: it was set back, or the worker was lost. message is
// 0 when it is unknown.
func (s DeliverySteps) deliveredBefore(message int64) error {
	s.Row.MessageID, s.Row.AckPendingAt, s.Row.LastError, s.Row.BytesSent = &message, nil, "", s.Row.Size
	return s.Do(lifecycle.DeliveryActionFindDelivered, "")
}

// finish ends the job without delivery: cancelled, expired, or failed with a reason. What the record knows wins: a job
// whose last bytes were sent without an answer fails with an unknown outcome, whichever action ends it.
func (s DeliverySteps) finish(action lifecycle.DeliveryAction, reason fault.Code) error {
	if s.Row.AckPendingAt != nil {
		action, reason = lifecycle.DeliveryActionFail, fault.OutcomeUnknown
	}

	held := s.Row.State != lifecycle.DeliveryQueued
	failed := min(s.failedNow(), lifecycle.DeliveryTries)
	switch {
	case held && action == lifecycle.DeliveryActionExpire: // its worker was lost, and no other has taken it
		if err := s.Requeue(fault.WorkerLost, failed, nil); err != nil {
			return err
		}
	case held && action == lifecycle.DeliveryActionFail:
		s.endTry(reason, failed)
	}

	s.Row.LastError = string(reason)
	return s.Do(action, reason)
}

// endTry records a failed try.
func (s DeliverySteps) endTry(code fault.Code, failed int) {
	s.Row.Attempt = failed
	s.Row.LastError = string(code)
	s.Row.AckPendingAt = nil
}

// failedNow is how many tries have failed when the worker that holds the job, if one does, is lost.
func (s DeliverySteps) failedNow() int {
	if s.Row.State == lifecycle.DeliveryQueued {
		return s.Row.Attempt
	}
	return s.Row.Attempt + 1
}

// triesLeft reports whether a job whose worker was lost may be tried again.
func (s DeliverySteps) triesLeft() bool {
	return s.Row.AckPendingAt == nil && s.failedNow() < lifecycle.DeliveryTries
}

// requeueLost puts a job back whose worker was lost, if one holds it.
func (s DeliverySteps) requeueLost() error {
	if s.Row.State == lifecycle.DeliveryQueued {
		return nil
	}
	return s.Requeue(fault.WorkerLost, s.failedNow(), nil)
}

// UnknownOutcome is the failure of a delivery whose last bytes were sent without an answer.
func UnknownOutcome() *fault.Error {
	return fault.New(fault.OutcomeUnknown, "the file was sent but no answer came: it may have arrived")
}

// Finish ends a live job other than by delivery, or as delivered when that is known. A job that has ended keeps its
// end, and the outcome says which one: a repeated or late call changes nothing.
func (c *Deliveries) Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	ended := false
	job, err := c.Store.Deliveries.Change(ctx, end.JobID, func(walk *delivery.JobWalk) error {
		if ended = !walk.Terminal(); !ended {
			return nil
		}

		steps := DeliverySteps{walk}
		switch {
		case end.Action == lifecycle.DeliveryActionAcknowledge:
			return steps.deliveredBefore(end.Message)
		case end.Lost && steps.triesLeft():
			ended = false
			return steps.requeueLost()
		default:
			return steps.finish(end.Action, end.Reason)
		}
	})
	if err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}

	if ended {
		c.countEnd(job)
	}
	outcome := lifecycle.DeliveryOutcome{State: job.State, Reason: fault.Code(job.LastError)}
	if !lifecycle.Delivery.Terminal(job.State) {
		outcome.Failed = job.Attempt
	}
	return outcome, nil
}

func (c *Deliveries) countEnd(job delivery.Job) {
	if c.OnEnded != nil {
		c.OnEnded(job.State)
	}
}
