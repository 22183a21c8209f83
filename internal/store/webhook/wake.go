package webhook

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// WakeCursor returns the position in the event stream up to which waiting webhooks were woken. The table has one row.
func (s *Store) WakeCursor(ctx context.Context) (core.Cursor, error) {
	place, err := core.One[struct {
		XID uint64 `db:"xid"`
		ID  int64  `db:"id"`
	}](ctx, s.db, none, `SELECT xid::text::bigint AS xid, id FROM webhook_cursor`)
	return core.Cursor{XID: place.XID, ID: place.ID}, err
}

// seers finds the users who may see one of the events with the workloads $1 and owners $2, of which $3 are the tasks:
// as an Audience does, but from the events to the users.
const seers = `WITH happened AS (SELECT * FROM unnest($1::text[], $2::bigint[]) e (workload, owner_id)),
	touched AS (SELECT creator_id, assignee_id, workspace_id, visibility FROM tasks WHERE id = ANY ($3::bigint[])),
	seers AS (
		SELECT owner_id AS user_id, workload FROM happened WHERE owner_id IS NOT NULL
		UNION SELECT creator_id, ` + ofTasks + ` FROM touched
		UNION SELECT assignee_id, ` + ofTasks + ` FROM touched WHERE assignee_id IS NOT NULL
		UNION SELECT m.user_id, ` + ofTasks + ` FROM touched t JOIN workspace_members m USING (workspace_id) WHERE t.visibility = '` + task.Public + `'
		UNION SELECT u.id, e.workload FROM users u, happened e WHERE u.role = 'ADMIN'
	) `

const ofTasks = `'` + lifecycle.WorkloadTask + `'`

// Wake wakes the waiting webhooks whose users may see one of the events after a position, and moves the position past
// the events: both or neither. The caller signals their workflows; Unanswered finds a row that stays woken without a
// sender. A waiting webhook has nothing to send from before the position. moved is false if another process has moved
// the position.
//
// It starts from the users who may see the events and finds their webhooks by webhooks_waiting: others are not read.
func (s *Store) Wake(
	ctx context.Context, from core.Cursor, events []core.StreamedEvent,
) (woken []int64, moved bool, err error) {
	to := events[len(events)-1].Cursor()
	var workloads []string
	var owners []*int64
	var tasks []int64

	for _, event := range events {
		workloads, owners = append(workloads, lifecycle.OfWorkload(event.Workload)), append(owners, event.OwnerID)
		if id, err := strconv.ParseInt(event.EntityID, 10, 64); err == nil && event.Workload == lifecycle.WorkloadTask {
			tasks = append(tasks, id)
		}
	}

	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE webhook_cursor SET xid = $1::text::xid8, id = $2 WHERE xid = $3::text::xid8 AND id = $4`,
			to.XIDText(), to.ID, from.XIDText(), from.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}

		moved = true
		woken, err = core.Values[int64](ctx, tx, seers+`UPDATE webhooks w SET waiting = false, woken_at = now(), updated_at = now(),
				xid = CASE WHEN (w.xid, w.event_id) < ($4::text::xid8, $5) THEN $4::text::xid8 ELSE w.xid END,
				event_id = CASE WHEN (w.xid, w.event_id) < ($4::text::xid8, $5) THEN $5 ELSE w.event_id END
			FROM seers s WHERE w.user_id = s.user_id AND w.waiting AND (w.xid, w.event_id) < ($6::text::xid8, $7)
				AND (w.workloads = '{}' OR s.workload = ANY (w.workloads)) RETURNING w.id`,
			workloads, owners, tasks, from.XIDText(), from.ID, to.XIDText(), to.ID)

		return err
	})

	return woken, moved, err
}

// stuckAfter is how long a webhook that does not wait may stay unchanged before its workflow is signalled again: much
// longer than one activity or, if its receiver is failing, than the longest delay between two attempts.
const stuckAfter = `CASE WHEN failing_since IS NULL THEN interval '10 minutes' ELSE interval '2 hours' END`

// Unanswered is a webhook that was woken without a sender having begun since.
type Unanswered struct {
	ID      int64     `db:"id"`
	WokenAt time.Time `db:"woken_at"`
	Failing bool      `db:"failing"` // its sender may be delaying the next attempt
}

// Unanswered returns up to limit webhooks woken some time ago without a sender having begun since: the process that
// should have signalled is gone, or others are ahead in the queue. Served by the index webhooks_woken.
func (s *Store) Unanswered(ctx context.Context, age time.Duration, limit int) ([]Unanswered, error) {
	return core.List[Unanswered](ctx, s.db, `SELECT id, woken_at, failing_since IS NOT NULL AS failing FROM webhooks
		WHERE woken_at < now() - $1::interval ORDER BY woken_at LIMIT $2`, age, limit)
}

// Signalled records that a webhook's workflow has the signal, unless it was woken again meanwhile.
func (s *Store) Signalled(ctx context.Context, id int64, wokenAt time.Time) error {
	return s.db.Do(ctx, `UPDATE webhooks SET woken_at = NULL WHERE id = $1 AND woken_at = $2`, id, wokenAt)
}

// Active returns which of these webhooks need a workflow.
func (s *Store) Active(ctx context.Context, ids []int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM webhooks WHERE id = ANY ($1::bigint[])
		AND state = `+core.Literal(lifecycle.WebhookActive), ids)
}

// Live returns up to limit webhooks that need a workflow, with ids above after, ascending, and whether the workflow
// must be signalled because the webhook neither waits nor sends.
func (s *Store) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]Live, error) {
	return core.List[Live](ctx, s.db, `SELECT id, NOT waiting AND updated_at < now() - `+stuckAfter+` AS stuck FROM webhooks
		WHERE id > $1 AND state = `+core.Literal(lifecycle.WebhookActive)+` AND created_at < now() - $3::interval
		ORDER BY id LIMIT $2`, after, limit, age)
}

// Live is a webhook that needs a workflow.
type Live struct {
	ID    int64 `db:"id"`
	Stuck bool  `db:"stuck"` // it neither waits nor sends
}
