package task

import (
	"context"
	"strconv"

	"stagecoach/internal/store/core"
)

// DrivenTasks finds tasks by the keys of their workflows. The primary key serves it.
func (s *Store) DrivenTasks(ctx context.Context, keys []string) (core.DrivenRows, error) {
	possible := map[string]bool{}
	var ids []int64
	for _, key := range keys {
		id, err := strconv.ParseInt(key, 10, 64)
		if err == nil {
			possible[key], ids = true, append(ids, id)
		}
	}
	return s.db.Driven(ctx, possible, `SELECT id::text AS key, id::text AS entity, status IN `+endedTasks+` AS over, now() - updated_at AS changed
		FROM tasks WHERE id = ANY ($1::bigint[])`, ids)
}
