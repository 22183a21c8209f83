// Package cleanup deletes the rows that the retention policy does not keep.
package cleanup

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

type OldRows struct {
	Store *store.Store
	Log   *slog.Logger
}

// Batch is how many rows one database transaction checks: it holds its locks for some milliseconds.
const Batch = 500

// DeleteOldRows deletes what the policy does not keep, in small batches, and returns the number of deleted rows of each
// kind. A failed attempt's batches stay deleted; the next attempt deletes the rest. All rows are recounted afterwards.
func (r *OldRows) DeleteOldRows(ctx context.Context, policy operations.Retention) (map[string]int64, error) {
	total := map[string]int64{}
	for _, old := range r.Store.Operations.OldKinds(policy) {
		for next := int64(0); ; {
			deleted, after, err := r.Store.Operations.DeleteOld(ctx, old, next, Batch)
			if err != nil {
				return nil, temporalio.RetryUntilSeen(ctx, err)
			}

			total[old.Kind] += deleted
			activity.RecordHeartbeat(ctx, fmt.Sprintf("%s: %d deleted", old.Kind, total[old.Kind]))
			if next = after; next == 0 {
				break
			}

			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-activity.GetWorkerStopChannel(ctx): // the next worker continues
				return nil, temporal.NewApplicationError("the worker stops", string(fault.WorkerLost))
			default:
			}
		}
	}

	if err := r.Store.Operations.ResetCounts(ctx); err != nil {
		return nil, temporalio.RetryUntilSeen(ctx, err)
	}

	r.Log.Info("old rows deleted", "rows", total)
	return total, nil
}
