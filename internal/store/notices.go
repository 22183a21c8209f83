package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Notice is news of a task for one person: all that goes into one message.
type Notice struct {
	UserID int64   `db:"user_id"`
	TaskID int64   `db:"task_id"`
	Seqs   []int64 `db:"seqs"` // of the task's events; NoticeReady besides
}

// NoticeReady stands among the numbers of events for the news that a task's last blocker is DONE.
const NoticeReady = 0

// What becomes of a notice.
const (
	NoticeDue     = "due"
	NoticeSending = "sending" // on its way; found so later, its fate is unknown
	NoticeSent    = "sent"
	NoticeUnknown = "unknown" // no answer came, and it is not sent again
	NoticeLost    = "lost"    // the person cannot be reached, or may not see the task any more
)

// noticeAge is how old a change may be that people still want to hear of, when nobody could tell them before.
const noticeAge = 24 * time.Hour

// NoticeCursor gives the place in the stream of events up to which notices are planned.
func (s *Store) NoticeCursor(ctx context.Context) (c Cursor, err error) {
	var xid int64
	err = s.pool.QueryRow(ctx, `SELECT xid::text::bigint, id FROM notice_cursor`).Scan(&xid, &c.ID)
	c.XID = uint64(xid)
	return c, unavailable(err)
}

// PlanNotices plans who is told of the events that follow the cursor, and moves the cursor past them: both or neither, so
// that nobody is told twice. A person's news of a task that comes within gather of the first is one message with it. When
// another process has moved the cursor nothing happens.
func (s *Store) PlanNotices(ctx context.Context, from Cursor, events []StreamedEvent, gather time.Duration) error {
	if len(events) == 0 {
		return nil
	}
	to := events[len(events)-1].Cursor()
	return s.inTx(ctx, func(tx pgx.Tx) error {
		moved, err := tx.Exec(ctx, `UPDATE notice_cursor SET xid = $1::text::xid8, id = $2 WHERE xid = $3::text::xid8 AND id = $4`,
			strconv.FormatUint(to.XID, 10), to.ID, strconv.FormatUint(from.XID, 10), from.ID)
		if err != nil || moved.RowsAffected() == 0 {
			return err
		}
		batch := &pgx.Batch{}
		for _, event := range events {
			if time.Since(event.CreatedAt) >= noticeAge {
				continue
			}
			var err error
			switch event.Workload {
			case tasks:
				err = queueNotices(batch, event, gather)
			case downloads:
				err = queueDownloadNotice(batch, event)
			}
			if err != nil {
				return err
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// joins is the time at which user u is told of task t: with what waits already, else after $2.
const joins = `coalesce((SELECT min(n.due_at) FROM notices n WHERE n.user_id = u.id AND n.task_id = t.id AND n.state = 'due'), now() + $2::interval)`

// queueNotices plans the notices of one event of a task.
func queueNotices(batch *pgx.Batch, e StreamedEvent, gather time.Duration) error {
	task, err := strconv.ParseInt(e.EntityID, 10, 64)
	if err != nil {
		return fmt.Errorf("an event of task %q: %w", e.EntityID, err)
	}
	// Who takes a task acts; who was given one at its creation does not. The record may know a later assignee by now.
	batch.Queue(`INSERT INTO task_watchers (task_id, user_id)
		SELECT $1::bigint, $2::bigint WHERE $2 IS NOT NULL
		UNION SELECT t.id, t.assignee_id FROM tasks t WHERE t.id = $1 AND $3 = 1 AND t.assignee_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM events WHERE workload = 'task' AND entity_id = $4 AND actor_id = t.assignee_id AND type = 'claimed')
		ON CONFLICT DO NOTHING`, task, e.ActorID, e.Seq, e.EntityID)
	batch.Queue(`INSERT INTO notices (task_id, due_at, seq, user_id)
		SELECT t.id, `+joins+`, $3, u.id FROM tasks t JOIN task_watchers w ON w.task_id = t.id JOIN users u ON u.id = w.user_id
		WHERE t.id = $1 AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $4
		ON CONFLICT DO NOTHING`, task, gather, e.Seq, e.ActorID)
	if e.To == string(TaskDone) {
		batch.Queue(`INSERT INTO notices (task_id, due_at, seq, user_id)
			SELECT t.id, `+joins+`, $3, u.id FROM tasks t JOIN users u ON u.id = t.assignee_id
			WHERE t.id IN (SELECT task_id FROM task_blockers WHERE blocker_id = $1) AND t.status IN ('NEW', 'STUCK')
				AND u.telegram_id IS NOT NULL AND NOT `+openBlocker+`
			ON CONFLICT DO NOTHING`, task, gather, NoticeReady)
	}
	return nil
}

// DueNotices lists up to limit notices that are due, one for each person: who has many holds up nobody.
func (s *Store) DueNotices(ctx context.Context, limit int) ([]Notice, error) {
	return list[Notice](ctx, s, `SELECT user_id, task_id, seqs FROM (
			SELECT DISTINCT ON (user_id) user_id, task_id, array_agg(seq ORDER BY seq) AS seqs, min(due_at) AS since FROM notices
			WHERE state = 'due' AND due_at <= now() GROUP BY user_id, task_id ORDER BY user_id, min(due_at), task_id
		) first ORDER BY since LIMIT $1`, limit)
}

// TakeNotice marks a notice as being sent and gives its events; what another process took meanwhile is not among them.
func (s *Store) TakeNotice(ctx context.Context, n *Notice) (events []StreamedEvent, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `UPDATE notices SET state = 'sending' WHERE user_id = $1 AND task_id = $2 AND seq = ANY ($3)
			AND state = 'due' RETURNING seq`, n.UserID, n.TaskID, n.Seqs)
		if err != nil {
			return err
		}
		if n.Seqs, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, eventSelect+`WHERE workload = $1 AND entity_id = $2 AND seq = ANY ($3) ORDER BY seq`,
			tasks, fmt.Sprint(n.TaskID), n.Seqs); err != nil {
			return err
		}
		events, err = pgx.CollectRows(rows, pgx.RowToStructByName[StreamedEvent])
		return err
	})
	return events, err
}

// SaveNotice records what became of a notice that was taken; one that is due again waits that long.
func (s *Store) SaveNotice(ctx context.Context, n Notice, state string, wait time.Duration) error {
	_, err := s.pool.Exec(ctx, `UPDATE notices SET state = $4, due_at = now() + $5::interval
		WHERE user_id = $1 AND task_id = $2 AND seq = ANY ($3)`, n.UserID, n.TaskID, n.Seqs, state, wait)
	return unavailable(err)
}

// Ready says whether the notice tells that the task's last blocker is DONE.
func (n Notice) Ready() bool { return slices.Contains(n.Seqs, NoticeReady) }

// LastWords lists up to limit events of a task that say something, the newest first: comments, and those of transitions.
func (s *Store) LastWords(ctx context.Context, task int64, limit int) ([]StreamedEvent, error) {
	return list[StreamedEvent](ctx, s, eventSelect+`WHERE workload = $1 AND entity_id = $2 AND comment <> '' ORDER BY seq DESC LIMIT $3`,
		tasks, fmt.Sprint(task), limit)
}
