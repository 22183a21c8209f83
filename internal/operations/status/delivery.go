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

// jobs fills in what is recorded about waiting and claimed deliveries.
func (r *Reporter) jobs(ctx context.Context, s *Status) (err error) {
	s.QueueDepth = s.InState[lifecycle.WorkloadDelivery][string(lifecycle.DeliveryQueued)]
	held, err := r.o.Store.Deliveries.Held(ctx, r.o.StuckAfter, maxStuck)
	s.WorkerHeartbeatAge, s.StuckJobs = held.HeartbeatAge, held.Stuck
	return err
}
