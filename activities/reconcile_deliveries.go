package activities

import (
	"context"
	"errors"
	"strconv"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// deliveries settles every live job whose workflow does not run, and every workflow that runs without a live job.
func (s *sweeper) deliveries(ctx context.Context) error {
	v, err := s.view(ctx, lifecycle.WorkloadDelivery, "Delivery")
	if err != nil {
		return err
	}
	err = sweep(ctx, func(after int64) ([]store.LiveJob, error) {
		return s.Records.Store.LiveJobs(ctx, settled, after, pageLimit)
	}, func(job store.LiveJob) int64 {
		s.sweep.Live[v.workload]++
		if err := s.delivery(ctx, v, job); err != nil {
			s.Log.Warn("job not reconciled", "job", job.ID, "error", err) // one bad job never stops the others
		}
		return job.ID
	})
	if err != nil {
		return err
	}
	return s.strays(ctx, v)
}

func (s *sweeper) delivery(ctx context.Context, v *workflowView, job store.LiveJob) error {
	id := job.WorkflowID()
	f := store.Finding{Workload: v.workload, Entity: strconv.FormatInt(job.ID, 10), WorkflowID: id}
	start := func() (string, error) { return store.DoneStarted, s.StartDelivery(ctx, job.ID, id, job.UserID) }
	listed, runs := v.meet(id)
	switch {
	case job.WorkflowStartedAt == nil:
		f.Finding = store.FindingNotStarted
		return s.mend(ctx, f, start)
	case runs:
		return s.refresh(ctx, v, f, listed, string(job.State), func() error { return s.ShowDelivery(ctx, id, job.State) })
	}
	now, err := s.describe(ctx, id)
	if err != nil || now.alive() {
		return err
	}
	if job.HeartbeatAge != nil && *job.HeartbeatAge < silent.Seconds() && job.State != lifecycle.DeliveryQueued {
		return nil
	}
	f.RunID, f.Finding = now.runID, now.finding()
	if f.Finding == store.FindingMissing && job.State == lifecycle.DeliveryQueued {
		return s.mend(ctx, f, start) // it only waits in line: nothing of it is lost
	}
	end := lifecycle.DeliveryEnd{JobID: job.ID, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkflowLost}
	switch f.Finding {
	case store.FindingTerminated:
		end.Reason = fault.TerminatedByOperator
	case store.FindingEnded:
		if end, err = s.endOf(ctx, job); err != nil {
			return err
		}
	}
	return s.mend(ctx, f, func() (string, error) {
		_, err := s.Records.Deliveries.Finish(ctx, end)
		return store.DoneEnded, err
	})
}

// endOf takes a job's end from its workflow, which has ended and knows it: the record was set back to an older moment. So a file
// that was delivered since then is not delivered again.
func (s *sweeper) endOf(ctx context.Context, job store.LiveJob) (lifecycle.DeliveryEnd, error) {
	end := lifecycle.DeliveryEnd{JobID: job.ID, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkflowLost}
	var outcome lifecycle.DeliveryOutcome
	err := s.Temporal.GetWorkflow(ctx, job.WorkflowID(), "").Get(ctx, &outcome)
	failure, failed := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil && outcome.State == lifecycle.DeliveryDelivered:
		end.Action, end.Reason = lifecycle.DeliveryActionAcknowledge, ""
	case temporal.IsCanceledError(err):
		end.Action, end.Reason = lifecycle.DeliveryActionCancel, fault.CancelledByUser
	case failed && failure.Type() == string(fault.NotClaimedInTime):
		end.Action, end.Reason = lifecycle.DeliveryActionExpire, fault.NotClaimedInTime
	case failed:
		end.Reason = fault.Code(failure.Type())
	case err != nil:
		if _, ended := errors.AsType[*temporal.WorkflowExecutionError](err); !ended {
			return end, err // Temporal cannot be asked now
		}
	}
	return end, nil
}
