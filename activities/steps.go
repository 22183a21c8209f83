package activities

import (
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// steps walks a locked job through the rules and collects the events that this makes.
type steps struct {
	rules  JobRules
	job    *store.Job
	events []store.Event
}

// take does one action as the system. comment is a fault code or empty.
func (s *steps) take(action lifecycle.DeliveryAction, comment fault.Code) error {
	rule, err := s.rules.Decide(s.job.State, lifecycle.Request[lifecycle.DeliveryState, lifecycle.DeliveryAction]{
		Action: action, Roles: []lifecycle.Role{lifecycle.System},
	}, s.job.Facts())
	if err != nil {
		return err
	}
	s.events = append(s.events, store.Event{
		Type: rule.Event, From: string(s.job.State), To: string(rule.To), Comment: string(comment),
	})
	s.job.State = rule.To
	return nil
}

// requeue puts the job back after a try that failed with code and ended at the given time; next is when the one after it begins,
// nil where nobody knows.
func (s *steps) requeue(code fault.Code, ended time.Time, next *time.Time) error {
	if err := s.take(lifecycle.DeliveryActionRequeue, code); err != nil {
		return err
	}
	s.endTry(code, ended)
	s.job.NextAttemptAt = next
	return nil
}

// handOver puts the job back without counting the try. An operator who caused that is the reason. Once the last bytes were let
// go it is too late for that.
func (s *steps) handOver(reason fault.Code, next *time.Time) error {
	if s.job.AckPendingAt != nil {
		return unknownOutcome()
	}
	if err := s.take(lifecycle.DeliveryActionHandOver, reason); err != nil {
		return err
	}
	s.job.Busy += max(0, s.job.HeartbeatAt.Sub(*s.job.ClaimedAt))
	s.job.NextAttemptAt = next
	if reason != "" {
		s.job.LastError = string(reason)
	}
	return nil
}

// takeOver puts a job back that the attempt before still holds. Where Temporal counts from the beginning an operator has reset the
// activity or the workflow, and the attempt was not lost.
func (s *steps) takeOver(reset bool) error {
	if reset {
		return s.handOver(fault.ResetByOperator, nil)
	}
	return s.requeue(fault.WorkerLost, *s.job.HeartbeatAt, nil)
}

// claim takes the job for an attempt: the claim's number keeps all earlier holders from writing.
func (s *steps) claim() error {
	if err := s.take(lifecycle.DeliveryActionClaim, ""); err != nil {
		return err
	}
	job := s.job
	job.Claim++
	job.ClaimedAt, job.HeartbeatAt, job.BytesSent, job.NextAttemptAt = &job.Now, &job.Now, 0, nil
	if isOperators(fault.Code(job.LastError)) {
		job.LastError = "" // it goes on
	}
	return nil
}

// isOperators says whether an operator, and no failure, brought a job back into the queue.
func isOperators(reason fault.Code) bool {
	return reason == fault.PausedByOperator || reason == fault.ResetByOperator
}

// settleLost decides about a job whose worker was lost after the last bytes were let go: only a receipt proves a delivery. 0: none.
func (s *steps) settleLost(receipt int64) error {
	if receipt == 0 {
		return unknownOutcome()
	}
	return s.acknowledge(receipt, "")
}

// acknowledge records Telegram's receipt.
func (s *steps) acknowledge(message int64, fileID string) error {
	s.job.MessageID, s.job.TelegramFileID = &message, fileID
	s.job.AckPendingAt, s.job.LastError, s.job.BytesSent = nil, "", s.job.Size
	return s.take(lifecycle.DeliveryActionAcknowledge, "")
}

// deliveredBefore records what happened while the record looked away. Which message it was is not known any more.
func (s *steps) deliveredBefore() {
	unknown := int64(0)
	s.job.MessageID, s.job.AckPendingAt, s.job.LastError, s.job.BytesSent = &unknown, nil, "", s.job.Size
	s.events = append(s.events, store.Event{Type: "delivered", From: string(s.job.State), To: string(lifecycle.DeliveryDelivered)})
	s.job.State = lifecycle.DeliveryDelivered
}

// finish ends the job without delivery: cancelled, expired, or failed with a reason. What the record knows better
// wins: a job whose last bytes were let go without an answer has failed with an unknown outcome, whoever ends it.
func (s *steps) finish(action lifecycle.DeliveryAction, reason fault.Code) error {
	if s.job.AckPendingAt != nil {
		action, reason = lifecycle.DeliveryActionFail, fault.OutcomeUnknown
	}
	held := s.job.State != lifecycle.DeliveryQueued
	if held && action == lifecycle.DeliveryActionExpire { // its worker was lost, and nobody took it again
		if s.requeue(fault.WorkerLost, *s.job.HeartbeatAt, nil) != nil {
			action, reason = lifecycle.DeliveryActionFail, fault.WorkerLost
		}
	}
	if held && action == lifecycle.DeliveryActionFail {
		s.endTry(reason, s.job.Now)
	}
	s.job.LastError = string(reason)
	return s.take(action, reason)
}

// endTry counts a failed try and the time it took.
func (s *steps) endTry(code fault.Code, ended time.Time) {
	s.job.Attempt = min(s.job.Attempt+1, lifecycle.DeliveryTries)
	s.job.LastError = string(code)
	s.job.Busy += max(0, ended.Sub(*s.job.ClaimedAt))
	s.job.AckPendingAt = nil
}
