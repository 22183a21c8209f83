package tasks

import (
	"context"

	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Blocked notifies the workflows of the tasks that a blocked user, or one of their agents, held by a lease that has
// ended in the record. A workflow that is not notified checks when the lease would have ended.
func (c *Service) Blocked(ctx context.Context, userID int64) {
	held, err := c.Store.Tasks.EndedLeases(ctx, userID)
	if err != nil {
		c.Log.Warn("leases of a blocked user not ended yet", "user", userID, "error", err)
		return
	}

	for _, id := range held {
		if err := c.Refresh(ctx, task.LiveTask{ID: id}.WorkflowID()); err != nil && !temporalio.IsNotFound(err) {
			c.Log.Warn("lease of a blocked user not ended yet", "task", id, "error", temporalio.Unreachable(err))
		}
	}
}
