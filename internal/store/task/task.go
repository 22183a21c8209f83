// Package task stores tasks.
package task

import (
	"context"
	"strconv"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB

	// TaskTimes limit the deadlines of tasks. Set them before the first use.
	TaskTimes Times
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }

// Part describes tasks to statements across all workloads.
var Part = core.Part{
	Workload: lifecycle.WorkloadTask,
	Table:    "tasks",
	Events:   "task_events",

	Live: `SELECT status FROM tasks WHERE (assignee_id = $1 OR creator_id = $1) AND status NOT IN ` + EndedTasks,
	Counts: []core.Counts{
		core.CountStates(lifecycle.WorkloadTask, "tasks", "status", lifecycle.Task.Live(), lifecycle.Task.Ended()),
	},
	Quotas: []core.Quota{taskQuota, workspaceQuota, memberQuota},
	Retained: []core.Retention{
		{
			Kind: "tasks", Policy: "tasks",
			Page: `SELECT id, created_at AS made, coalesce(finished_at < $3, false) AND NOT EXISTS (
					SELECT 1 FROM task_blockers b JOIN tasks d ON d.id = b.task_id
					WHERE b.blocker_id = t.id AND (d.finished_at IS NULL OR d.finished_at >= $3)) AS old
				FROM (SELECT id, created_at, finished_at FROM tasks WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE) t ORDER BY id`,
			Drops: core.OfEntity(lifecycle.WorkloadTask,
				`DELETE FROM task_watchers WHERE task_id = ANY ($1)`,
				`DELETE FROM task_blockers WHERE task_id = ANY ($1) OR blocker_id = ANY ($1)`,
				`DELETE FROM tasks WHERE id = ANY ($1)`),
		},
		core.EventsOf(lifecycle.WorkloadTask, `tasks WHERE id = e.entity_id::bigint AND finished_at IS NULL`),
	},
}

var (
	taskQuota = core.Quota{
		Name:   "tasks",
		Things: `FROM tasks WHERE creator_id = %s AND status NOT IN ` + EndedTasks,
		Above: `SELECT creator_id AS user_id, count(*) FROM tasks WHERE status NOT IN ` + EndedTasks + `
			GROUP BY 1 HAVING count(*) > %d`,
	}
	workspaceQuota = core.Quota{
		Name:   "workspaces",
		Things: `FROM workspaces WHERE owner_id = %s`,
		Above:  `SELECT owner_id AS user_id, count(*) FROM workspaces GROUP BY 1 HAVING count(*) > %d`,
	}
	// of one workspace
	memberQuota = core.Quota{
		Name:   "members",
		Things: `FROM workspace_members WHERE workspace_id = %s`,
		Above: `SELECT w.owner_id AS user_id, max(m.count) AS count FROM (SELECT workspace_id, count(*) FROM workspace_members
			GROUP BY 1 HAVING count(*) > %d) m JOIN workspaces w ON w.id = m.workspace_id GROUP BY 1`,
	}
	// of one workspace: it bounds the rows, and is not reported, because that would reveal who exists
	invitationQuota = core.Quota{
		Name:   memberQuota.Name,
		Things: `FROM workspace_invitations WHERE workspace_id = %s`,
	}
)

// Driven returns tasks by their workflows' keys. Served by the primary key.
func (s *Store) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	possible := map[string]bool{}
	var ids []int64
	for _, key := range keys {
		id, err := strconv.ParseInt(key, 10, 64)
		if err == nil {
			possible[key], ids = true, append(ids, id)
		}
	}
	return s.db.Driven(ctx, possible, `SELECT id::text AS key, id::text AS entity, status IN `+EndedTasks+` AS over, now() - updated_at AS changed
		FROM tasks WHERE id = ANY ($1::bigint[])`, ids)
}
