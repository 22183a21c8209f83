package accounts

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
)

// getOverview counts entities in progress: the caller's, or everybody's for administrators.
func (h *handlers) getOverview(ctx context.Context, _ *struct{}) (shape.Overview, error) {
	user := server.Caller(ctx)
	if user.IsAdmin() {
		counts, err := h.Store.Operations.StateCounts(ctx)
		return server.Shown(counts, err, overviewFrom)
	}
	counts, err := h.Store.Operations.LiveCounts(ctx, user.ID)
	return server.Shown(counts, err, overviewFrom)
}

// overviewFrom leaves out final states.
func overviewFrom(counts []operations.Count) shape.Overview {
	body := shape.Overview{Live: map[string]map[string]int64{}}
	found := map[operations.Count]int64{}
	for _, count := range counts {
		found[operations.Count{Kind: count.Kind, Key: count.Key}] = count.N
	}

	for _, workload := range lifecycle.Workloads {
		live := map[string]int64{}
		for _, state := range workload.Table.Plain().States {
			if n := found[operations.Count{Kind: workload.Name, Key: state.State}]; n > 0 && !state.Terminal {
				live[state.State] = n
			}
		}
		body.Live[workload.Name] = live
	}

	body.WaitingUsers = found[operations.Count{Kind: operations.CountWaiting}]
	return body
}
