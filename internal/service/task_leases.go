package service

import (
	"context"

	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Blocked tells the workflows of the tasks that a blocked user, or an agent of theirs, held by a lease: it has ended in the
// record. A workflow that is not told looks when the lease would have ended.
func (c *Tasks) Blocked(ctx context.Context, userID int64) {
	held, err := c.Store.Tasks.EndedLeases(ctx, userID)
	if err != nil {
		c.Log.Warn("the leases of a blocked user end later", "user", userID, "error", err)
		return
	}

	for _, id := range held {
		if err := c.Refresh(ctx, task.LiveTask{ID: id}.WorkflowID()); err != nil && !temporalio.IsNotFound(err) {
			c.Log.Warn("the lease of a blocked user ends later", "task", id, "error", temporalio.Unreachable(err))
		}
	}
}
