package notice

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Notice has the pending notifications of one person about one entity: the content of one message.
type Notice struct {
	UserID   int64   `db:"user_id"`
	Workload string  `db:"workload"`
	EntityID string  `db:"entity_id"`
	Seqs     []int64 `db:"seqs"` // of the entity's events; NoticeReady besides
}

// NoticeReady stands among the numbers of events for the notification that a task's last blocker is DONE.
const NoticeReady = 0

// States of a notice.
const (
	NoticeDue     = "due"
	NoticeSending = "sending" // being sent; found later in this state, its outcome is unknown
	NoticeSent    = "sent"
	NoticeUnknown = "unknown" // no answer came, and it is not sent again
	NoticeLost    = "lost"    // the person cannot be reached, or may not see the entity any more
)

// Due lists up to limit due notices of these workloads, one for each person, so that a person with many does not
// delay others. It goes from person to person by news_next, whatever the number of notices of each.
func (s *Store) Due(ctx context.Context, workloads []string, limit int) ([]Notice, error) {
	return core.List[Notice](ctx, s.db, `WITH RECURSIVE people AS (
			(SELECT user_id FROM news WHERE state = 'due' ORDER BY user_id LIMIT 1)
			UNION ALL
			SELECT (SELECT n.user_id FROM news n WHERE n.state = 'due' AND n.user_id > p.user_id ORDER BY n.user_id LIMIT 1)
			FROM people p WHERE p.user_id IS NOT NULL
		), first AS (
			SELECT p.user_id, n.workload, n.entity_id, n.due_at FROM people p CROSS JOIN LATERAL (
				SELECT workload, entity_id, due_at FROM news WHERE user_id = p.user_id AND state = 'due' AND due_at <= now() AND workload = ANY ($1)
				ORDER BY due_at LIMIT 1
			) n ORDER BY n.due_at LIMIT $2
		)
		SELECT user_id, workload, entity_id, (
			SELECT array_agg(n.seq ORDER BY n.seq) FROM news n
			WHERE (n.user_id, n.workload, n.entity_id) = (f.user_id, f.workload, f.entity_id) AND n.state = 'due' AND n.due_at <= now()
		) AS seqs FROM first f ORDER BY due_at`, workloads, limit)
}

// Take marks a notice as being sent and returns its events, without those that another process has taken
// meanwhile.
func (s *Store) Take(ctx context.Context, n *Notice) (events []core.StreamedEvent, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		n.Seqs, err = core.Values[int64](ctx, tx, `UPDATE news SET state = 'sending', due_at = now() WHERE user_id = $1 AND workload = $2 AND entity_id = $3
			AND seq = ANY ($4) AND state = 'due' RETURNING seq`, n.UserID, n.Workload, n.EntityID, n.Seqs)
		if err != nil {
			return err
		}

		events, err = core.List[core.StreamedEvent](ctx, tx, core.EventSelect+`WHERE workload = $1 AND entity_id = $2 AND seq = ANY ($3) ORDER BY seq`,
			n.Workload, n.EntityID, n.Seqs)
		return err
	})

	return events, err
}

// Save records the outcome of a notice that was taken, or that one that was not is lost; a notice that is due
// again waits that long. An invitation that was planned anew meanwhile stays due.
func (s *Store) Save(ctx context.Context, n Notice, state string, wait time.Duration) error {
	return s.db.Do(ctx, `UPDATE news SET state = $5, due_at = now() + $6::interval
		WHERE user_id = $1 AND workload = $2 AND entity_id = $3 AND seq = ANY ($4) AND (state = 'sending' OR $5 = 'lost')`,
		n.UserID, n.Workload, n.EntityID, n.Seqs, state, wait)
}

// Ready reports whether the notice contains that the task's last blocker is DONE.
func (n Notice) Ready() bool { return slices.Contains(n.Seqs, NoticeReady) }
