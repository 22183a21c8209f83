package status

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
)

// Stuck reports whether any job is stuck.
func (s Status) Stuck() bool { return len(s.StuckJobs) > 0 }

// addJobError adds an error to those of deliveries.
func (s *Status) addJobError(e operations.WorkloadErrorCount) {
	if e.Workload == lifecycle.WorkloadDelivery {
		s.TopErrors = append(s.TopErrors, operations.ErrorCount{Code: e.Code, Count: e.Count})
	}
}

// jobs fills in what the record says of waiting and held deliveries.
func (r *Reporter) jobs(ctx context.Context, s *Status) (err error) {
	s.QueueDepth = s.InState[lifecycle.WorkloadDelivery][string(lifecycle.DeliveryQueued)]
	if s.WorkerHeartbeatAge, err = r.o.Store.HeartbeatAge(ctx); err != nil {
		return err
	}

	stuck, err := r.o.Store.StuckJobs(ctx, r.o.StuckAfter, maxStuck)
	for _, job := range stuck {
		s.StuckJobs = append(s.StuckJobs, job.ID)
	}
	return err
}
