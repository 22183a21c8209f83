package activities

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
)

// Records writes what workflows decide.
type Records struct {
	Store   *store.Store
	Rules   JobRules
	Metrics *metrics.Metrics
}

// JobEnd says how a job ends other than by delivery: Action is fail, cancel or expire, Reason a fault code. Action acknowledge is
// for one that is known to be delivered, though the record does not have it.
type JobEnd struct {
	JobID  int64                    `json:"job_id"`
	Action lifecycle.DeliveryAction `json:"action"`
	Reason fault.Code               `json:"reason"`
}

// JobOutcome is a job's end as the record has it.
type JobOutcome struct {
	State  lifecycle.DeliveryState `json:"state"`
	Reason fault.Code              `json:"reason,omitempty"`
}

// FinishJob ends a live job. A job that has its end already keeps it: the outcome says which, so that a repeated or
// late call changes nothing.
func (r *Records) FinishJob(ctx context.Context, end JobEnd) (JobOutcome, error) {
	ended := false
	job, err := r.Store.ChangeJob(ctx, end.JobID, func(job *store.Job) ([]store.Event, error) {
		if ended = !r.Rules.Terminal(job.State); !ended {
			return nil, nil
		}
		s := steps{rules: r.Rules, job: job}
		var err error
		if end.Action == lifecycle.DeliveryActionAcknowledge {
			s.deliveredBefore()
		} else {
			err = s.finish(end.Action, end.Reason)
		}
		return s.events, err
	})
	if err != nil {
		return JobOutcome{}, reported(ctx, asFault(err))
	}
	if ended {
		r.Metrics.JobsCompleted.WithLabelValues(string(job.State)).Inc()
	}
	return JobOutcome{State: job.State, Reason: fault.Code(job.LastError)}, nil
}
