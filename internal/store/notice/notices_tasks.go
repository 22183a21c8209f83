package notice

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// noticeAge is the maximum age of a task's change that is still sent after an outage of notifications.
const noticeAge = 24 * time.Hour

// Cursor returns the position in the event stream up to which notifications of tasks are planned.
func (s *Store) Cursor(ctx context.Context) (core.Cursor, error) {
	return s.cursor(ctx, `SELECT xid::text::bigint, id FROM notice_cursor`)
}

// Plan plans the notifications for the task events that follow the cursor, and moves the cursor past them: both or
// neither, so that no notification is sent twice. Unlike other workloads' this is not done with the event: a task may
// have many people to notify, and a request waits for the task's next step. A person's notifications about a task that
// come within gather of the first one become one message. Does nothing if another process has moved the cursor.
func (s *Store) Plan(
	ctx context.Context, from core.Cursor, events []core.StreamedEvent, gather time.Duration,
) error {
	if len(events) == 0 {
		return nil
	}

	to := events[len(events)-1].Cursor()
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		moved, err := tx.Exec(ctx, `UPDATE notice_cursor SET xid = $1::text::xid8, id = $2 WHERE xid = $3::text::xid8 AND id = $4`,
			strconv.FormatUint(to.XID, 10), to.ID, strconv.FormatUint(from.XID, 10), from.ID)
		if err != nil || moved.RowsAffected() == 0 {
			return err
		}

		batch := &pgx.Batch{}
		for _, event := range events {
			if event.Workload == lifecycle.WorkloadTask && time.Since(event.CreatedAt) < noticeAge {
				if err := queueTaskNotices(batch, event, gather); err != nil {
					return err
				}
			}
		}

		return tx.SendBatch(ctx, batch).Close()
	})
}

// queueTaskNotices plans the notifications of one task event.
func queueTaskNotices(batch *pgx.Batch, e core.StreamedEvent, gather time.Duration) error {
	taskID, err := strconv.ParseInt(e.EntityID, 10, 64)
	if err != nil {
		return fmt.Errorf("an event of task %q: %w", e.EntityID, err)
	}

	// A user who takes a task becomes a watcher; one assigned at its creation does not. The record may have a later
	// assignee by now.
	batch.Queue(`INSERT INTO task_watchers (task_id, user_id)
		SELECT $1::bigint, $2::bigint WHERE $2 IS NOT NULL
		UNION SELECT t.id, t.assignee_id FROM tasks t WHERE t.id = $1 AND $3::bigint = 1 AND t.assignee_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM events WHERE workload = 'task' AND entity_id = $4 AND actor_id = t.assignee_id AND type = 'claimed')
		ON CONFLICT (task_id, user_id) DO UPDATE SET watches = true WHERE NOT task_watchers.watches`, taskID, e.ActorID, e.Seq, e.EntityID)

	batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $1, $2, $4, `+core.Joins(`$2`)+` FROM task_watchers w JOIN users u ON u.id = w.user_id
		WHERE w.task_id = $5 AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $6 AND w.watches AND NOT w.muted
			AND NOT (u.mutes_agents AND EXISTS (SELECT FROM users a WHERE a.id = $6 AND a.owner_id IS NOT NULL))
		ON CONFLICT DO NOTHING`, lifecycle.WorkloadTask, e.EntityID, gather, e.Seq, taskID, e.ActorID)

	switch e.To {
	case string(lifecycle.TaskDone):
		batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
			SELECT u.id, $1, t.id::text, $4, `+core.Joins(`t.id::text`)+` FROM tasks t JOIN users u ON u.id = t.assignee_id
			WHERE t.id IN (SELECT task_id FROM task_blockers WHERE blocker_id = $2) AND t.status IN `+task.StartableTasks+`
				AND u.telegram_id IS NOT NULL AND NOT `+task.OpenBlocker+isHeard+`
			ON CONFLICT DO NOTHING`, lifecycle.WorkloadTask, taskID, gather, NoticeReady)
	case string(lifecycle.TaskCancelled):
		batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
			SELECT u.id, $1, t.id::text, $4, `+core.Joins(`t.id::text`)+` FROM tasks t JOIN users u ON u.id = t.creator_id
			WHERE t.id IN (SELECT task_id FROM task_blockers WHERE blocker_id = $2) AND t.status NOT IN `+task.EndedTasks+`
				AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $5`+isHeard+`
			ON CONFLICT DO NOTHING`, lifecycle.WorkloadTask, taskID, gather, NoticeHopeless, e.ActorID)
	}

	return nil
}

// isHeard is true of a user u who has not muted task t.
const isHeard = ` AND NOT EXISTS (SELECT FROM task_watchers w WHERE w.task_id = t.id AND w.user_id = u.id AND w.muted)`

// LastWords lists up to limit events of a task with a comment, newest first: comments, and transitions with one.
func (s *Store) LastWords(ctx context.Context, taskID int64, limit int) ([]core.StreamedEvent, error) {
	return core.List[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE workload = $1 AND entity_id = $2 AND comment <> '' ORDER BY seq DESC LIMIT $3`,
		lifecycle.WorkloadTask, fmt.Sprint(taskID), limit)
}
