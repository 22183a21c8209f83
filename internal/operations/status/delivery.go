package status

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
)

// Stuck says whether any job is.
func (s Status) Stuck() bool { return len(s.StuckJobs) > 0 }

// waiting is the record's count of deliveries that wait for a worker.
func (s Status) waiting() int64 {
	return s.InState[lifecycle.WorkloadDelivery][string(lifecycle.DeliveryQueued)]
}

// addDeliveryError adds an error to those that deliveries met.
func (s *Status) addDeliveryError(e operations.WorkloadErrorCount) {
	if e.Workload == lifecycle.WorkloadDelivery {
		s.TopErrors = append(s.TopErrors, operations.ErrorCount{Code: e.Code, Count: e.Count})
	}
}

func (r *Reporter) stuckJobs(ctx context.Context) ([]int64, error) {
	jobs, err := r.o.Store.StuckJobs(ctx, r.o.StuckAfter, maxStuck)
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	return ids, err
}
