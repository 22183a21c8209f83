package task

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// Unstarted lists the tasks of Live whose workflow was never started. Served by the index tasks_unstarted.
func (s *Store) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE workflow_started_at IS NULL AND status NOT IN `+EndedTasks+`
		AND id > $1 AND created_at < now() - $2::interval ORDER BY id LIMIT $3`, after, age, limit)
}
