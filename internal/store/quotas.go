package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Quotas bound what one user may have at a time; 0: no bound. Administrators are not bound. Who has more already,
// because a bound was lowered, keeps it.
type Quotas struct {
	Tasks      int // live ones that the user has made
	Deliveries int // live ones
	Downloads  int // active ones
	Workspaces int // of the user's own
	Members    int // of one workspace, let in by its owner
	Books      int // that the user has made
	Tokens     int // neither revoked nor past their end
}

// quota is one kind of things that are bounded.
type quota struct {
	name    string // in details of QUOTA_EXCEEDED
	maximum int    // 0: no bound
	things  string // SQL after SELECT 1: the things of user %s (of members: of workspace %s)
}

func (q Quotas) tasks() quota {
	return quota{"tasks", q.Tasks, `FROM tasks WHERE creator_id = %s AND status NOT IN ` + endedTasks}
}

func (q Quotas) deliveries() quota {
	return quota{"deliveries", q.Deliveries, `FROM jobs WHERE user_id = %s AND state IN ` + liveJobs}
}

func (q Quotas) downloads() quota {
	return quota{"downloads", q.Downloads, `FROM download_jobs WHERE user_id = %s AND status IN ` + liveDownloads}
}

func (q Quotas) workspaces() quota {
	return quota{"workspaces", q.Workspaces, `FROM workspaces WHERE owner_id = %s`}
}

func (q Quotas) members() quota {
	return quota{"members", q.Members, `FROM workspace_members WHERE workspace_id = %s`}
}

func (q Quotas) books() quota {
	return quota{"books", q.Books, `FROM books WHERE creator_id = %s`}
}

func (q Quotas) tokens() quota {
	return quota{"tokens", q.Tokens, `FROM tokens WHERE user_id = %s AND ` + liveToken}
}

// QuotaNames lists the names of all quotas, as details of QUOTA_EXCEEDED have them.
func QuotaNames() (names []string) {
	var q Quotas
	for _, kind := range []quota{q.tasks(), q.deliveries(), q.downloads(), q.workspaces(), q.members(), q.books(), q.tokens()} {
		names = append(names, kind.name)
	}
	return names
}

// room is true, in SQL, while a user may have n more of a kind: the parameter at place by is who asks, the one at place
// of is whose things are counted. It looks at no more rows than the bound. The lock of queueLock must be held: else two
// see the same room.
func (q quota) room(by, of, n int) string {
	if q.maximum == 0 {
		return `true`
	}
	counted := fmt.Sprintf(q.things, fmt.Sprintf("$%d::bigint", of))
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM users WHERE id = $%d AND role = 'ADMIN' AND status = 'ACTIVE')
		OR %t AND NOT EXISTS (SELECT 1 %s OFFSET %d LIMIT 1))`, by, n <= q.maximum, counted, max(0, q.maximum-n))
}

// queueLock makes all who want more of a kind for the same user (or workspace) wait for each other until their
// transactions end. Each statement after it sees what those before have made.
func (q quota) queueLock(batch *pgx.Batch, of int64) {
	if q.maximum > 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, fmt.Sprintf("quota/%s/%d", q.name, of))
	}
}

// check refuses n more of a kind that do not fit, and keeps their room until the transaction ends.
func (q quota) check(ctx context.Context, tx pgx.Tx, userID int64, n int) error {
	if q.maximum == 0 {
		return nil
	}

	batch, room := &pgx.Batch{}, false
	q.queueLock(batch, userID)
	batch.Queue(`SELECT `+q.room(1, 1, n), userID).QueryRow(func(row pgx.Row) error { return row.Scan(&room) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}

	if !room {
		return q.exceeded()
	}
	return nil
}

func (q quota) exceeded() *fault.Error {
	return fault.New(
		fault.QuotaExceeded, "the limit of %d %s is reached", q.maximum, q.name,
	).With("limit", q.name).With("maximum", q.maximum)
}

// AboveQuota is a user who has more of a kind than a limit allows, because it was lowered or came later.
type AboveQuota struct {
	UserID  int64  `db:"user_id"`
	Limit   string `db:"name"`
	Maximum int    `db:"maximum"`
	Count   int64  `db:"count"`
}

// aboveTime bounds how long the search for users above a limit may take: it reads the keys of all that counts.
const aboveTime = 2 * time.Second

// AboveQuotas lists up to limit users above each limit, those with the most first.
func (s *Store) AboveQuotas(ctx context.Context, limit int) (above []AboveQuota, err error) {
	ctx, cancel := context.WithTimeout(ctx, aboveTime)
	defer cancel()

	q := s.Quotas
	for _, kind := range []struct {
		quota
		counts string // user_id and count of those above $1, by the indexes that the quota's own check uses
	}{
		{q.tasks(), `SELECT creator_id AS user_id, count(*) FROM tasks WHERE status NOT IN ` + endedTasks + ` GROUP BY 1 HAVING count(*) > $1`},
		{q.deliveries(), `SELECT user_id, count(*) FROM jobs WHERE state IN ` + liveJobs + ` GROUP BY 1 HAVING count(*) > $1`},
		{q.downloads(), `SELECT user_id, count(*) FROM download_jobs WHERE status IN ` + liveDownloads + ` GROUP BY 1 HAVING count(*) > $1`},
		{q.workspaces(), `SELECT owner_id AS user_id, count(*) FROM workspaces GROUP BY 1 HAVING count(*) > $1`},
		{q.members(), `SELECT w.owner_id AS user_id, max(m.count) AS count FROM (SELECT workspace_id, count(*) FROM workspace_members
			GROUP BY 1 HAVING count(*) > $1) m JOIN workspaces w ON w.id = m.workspace_id GROUP BY 1`},
		{q.books(), `SELECT creator_id AS user_id, count(*) FROM books GROUP BY 1 HAVING count(*) > $1`},
		{q.tokens(), `SELECT user_id, count(*) FROM tokens WHERE ` + liveToken + ` GROUP BY 1 HAVING count(*) > $1`},
	} {
		if kind.maximum == 0 {
			continue
		}
		found, err := list[AboveQuota](ctx, s, `SELECT c.user_id, $3::text AS name, $1::int AS maximum, c.count FROM (`+kind.counts+`) c
			JOIN users u ON u.id = c.user_id WHERE NOT (u.role = 'ADMIN' AND u.status = 'ACTIVE') ORDER BY c.count DESC, c.user_id LIMIT $2`,
			kind.maximum, limit, kind.name)
		if err != nil {
			return nil, err
		}
		above = append(above, found...)
	}

	return above, nil
}
