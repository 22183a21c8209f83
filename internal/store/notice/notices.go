package notice

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Notice holds one person's pending notifications about one entity: the content of one message.
type Notice struct {
	UserID   int64   `db:"user_id"`
	Workload string  `db:"workload"`
	EntityID string  `db:"entity_id"`
	Seqs     []int64 `db:"seqs"` // of the entity's events, and NoticeReady and NoticeHopeless
}

// Stored among the event numbers: notifications of what happened to a task's blockers.
const (
	NoticeReady    = 0  // the last blocker is DONE
	NoticeHopeless = -1 // a blocker was cancelled, so that the task cannot begin
)

// States of a notification.
const (
	NoticeDue     = "due"
	NoticeSending = "sending" // being sent; if found later in this state, its outcome is unknown
	NoticeSent    = "sent"
	NoticeUnknown = "unknown" // no answer came, and it is not resent
	NoticeLost    = "lost"    // the person cannot be reached, or may no longer see the entity
)

// Due lists up to limit due notifications of these workloads, one per person, so that a person with many does not delay
// others. It steps from person to person by news_next, however many each has.
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

// Take marks a notification as being sent and returns its events, except those that another process has meanwhile
// taken.
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

// Save records a taken notification's outcome, or that an untaken one is lost; one that is due again waits that long.
// An invitation planned anew meanwhile stays due.
func (s *Store) Save(ctx context.Context, n Notice, state string, wait time.Duration) error {
	return s.db.Do(ctx, `UPDATE news SET state = $5, due_at = now() + $6::interval
		WHERE user_id = $1 AND workload = $2 AND entity_id = $3 AND seq = ANY ($4) AND (state = 'sending' OR $5 = 'lost')`,
		n.UserID, n.Workload, n.EntityID, n.Seqs, state, wait)
}

// Has reports whether the notification contains an event, NoticeReady or NoticeHopeless.
func (n Notice) Has(seq int64) bool { return slices.Contains(n.Seqs, seq) }
