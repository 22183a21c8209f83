package deliveries

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// Steps are the transitions of a locked job and their effects on the row.
type Steps struct {
	*delivery.JobWalk
}

// Do performs an action as the system. comment is a fault code or empty.
func (s Steps) Do(action lifecycle.DeliveryAction, comment fault.Code) error {
	return s.Take(delivery.JobStep{Action: action, Comment: string(comment)})
}

// Requeue puts the job back after an attempt failed with code; failed is the number of failed attempts so far. next is
// when the next attempt begins, or nil if unknown.
func (s Steps) Requeue(code fault.Code, failed int, next *time.Time) error {
	if err := s.Do(lifecycle.DeliveryActionRequeue, code); err != nil {
		return err
	}
	s.endTry(code, failed)
	s.Row.NextAttemptAt = next
	return nil
}

// HandOver puts the job back after an attempt that did not fail. A reason means that an operator caused it. Refused
// once the last bytes were sent.
func (s Steps) HandOver(reason fault.Code) error {
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

// Claim claims the job for an attempt that follows the given number of failed ones. The new fencing token rejects
// writes by all earlier holders.
func (s Steps) Claim(failed int) error {
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

// isOperators reports whether an operator rather than a failure returned a job to the queue.
func isOperators(reason fault.Code) bool {
	return reason == fault.PausedByOperator || reason == fault.ResetByOperator
}

// SettleLost decides a job whose worker was lost after the last bytes were sent: only a receipt proves a delivery.
// receipt is 0 if there is none.
func (s Steps) SettleLost(receipt int64) error {
	if receipt == 0 {
		return UnknownOutcome()
	}
	return s.Acknowledge(receipt, "")
}

// Acknowledge records Telegram's receipt.
func (s Steps) Acknowledge(message int64, fileID string) error {
	s.Row.MessageID, s.Row.TelegramFileID = &message, fileID
	s.Row.AckPendingAt, s.Row.LastError, s.Row.BytesSent = nil, "", s.Row.Size
	return s.Do(lifecycle.DeliveryActionAcknowledge, "")
}

// deliveredBefore records a delivery missing from the record, because the record was restored or the worker was lost.
// message is 0 if unknown.
func (s Steps) deliveredBefore(message int64) error {
	s.Row.MessageID, s.Row.AckPendingAt, s.Row.LastError, s.Row.BytesSent = &message, nil, "", s.Row.Size
	return s.Do(lifecycle.DeliveryActionFindDelivered, "")
}

// finish ends the job undelivered: cancelled, expired, or failed with a reason. The record takes precedence: whichever
// action ends it, a job whose last bytes were sent without an answer fails with an unknown outcome.
func (s Steps) finish(action lifecycle.DeliveryAction, reason fault.Code) error {
	if s.Row.AckPendingAt != nil {
		action, reason = lifecycle.DeliveryActionFail, fault.OutcomeUnknown
	}

	if s.Row.State != lifecycle.DeliveryQueued && action == lifecycle.DeliveryActionFail {
		s.endTry(reason, min(s.failedNow(), lifecycle.DeliveryTries))
	}

	s.Row.LastError = string(reason)
	return s.Do(action, reason)
}

// endTry records a failed attempt.
func (s Steps) endTry(code fault.Code, failed int) {
	s.Row.Attempt = failed
	s.Row.LastError = string(code)
	s.Row.AckPendingAt = nil
}

// failedNow is the number of failed attempts if the worker that holds the job, if any, is now lost.
func (s Steps) failedNow() int {
	if s.Row.State == lifecycle.DeliveryQueued {
		return s.Row.Attempt
	}
	return s.Row.Attempt + 1
}

// triesLeft reports whether a job may be retried after its worker was lost.
func (s Steps) triesLeft() bool {
	return s.Row.AckPendingAt == nil && s.failedNow() < lifecycle.DeliveryTries
}

// requeueLost returns a job to the queue if a worker held it and was lost.
func (s Steps) requeueLost() error {
	if s.Row.State == lifecycle.DeliveryQueued {
		return nil
	}
	return s.Requeue(fault.WorkerLost, s.failedNow(), nil)
}

// UnknownOutcome is the failure of a delivery whose last bytes were sent without an answer.
func UnknownOutcome() *fault.Error {
	return fault.New(fault.OutcomeUnknown, "the file was sent but no answer came: it may have arrived")
}

// Finish ends a live job without delivering it, or as delivered if that is known. Idempotent: an ended job keeps its
// end, which the outcome names, so late calls change nothing.
func (c *Service) Finish(ctx context.Context, end lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
	ended := false
	job, err := c.Store.Deliveries.Change(ctx, end.JobID, func(walk *delivery.JobWalk) error {
		if ended = !walk.Terminal(); !ended {
			return nil
		}

		steps := Steps{walk}
		if end.Action == lifecycle.DeliveryActionExpire && walk.Row.Claim > 0 {
			end.Action, end.Reason, end.Lost = lifecycle.DeliveryActionFail, fault.WorkerLost, true // a retry has found no worker
		}
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
	return lifecycle.DeliveryOutcome{
		State: job.State, Reason: fault.Code(job.LastError), Failed: job.Attempt, Sent: job.BytesSent, At: job.UpdatedAt.UTC(),
	}, nil
}

func (c *Service) countEnd(job delivery.Job) {
	if c.OnEnded != nil {
		c.OnEnded(job.State)
	}
}
