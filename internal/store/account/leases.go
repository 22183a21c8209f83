package account

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// EndLeases ends the leases by which blocked users, and their agents, hold tasks: nobody could renew them. The caller
// notifies the tasks' workflows. Served by the indexes users_owner and tasks_live_assignee.
func EndLeases(ctx context.Context, tx pgx.Tx, userIDs ...int64) error {
	_, err := tx.Exec(ctx, `UPDATE tasks SET lease_expires_at = now(), lease_seconds = 0 WHERE lease_expires_at > now()
		AND status IN `+core.SetOf(lifecycle.TaskHeld)+` AND status NOT IN `+core.SetOf(lifecycle.Task.Ended())+`
		AND assignee_id IN (SELECT unnest($1::bigint[]) UNION SELECT id FROM users WHERE owner_id = ANY ($1))`, userIDs)
	return err
}
