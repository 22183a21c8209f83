package operations

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// CheckState is the result of a check of a system.
type CheckState string

// States of checks. Only CheckWorks and CheckOff need no action.
const (
	CheckWorks       CheckState = "works"
	CheckRefused     CheckState = "refused"     // the system answers, and refuses the process's work
	CheckUnreachable CheckState = "unreachable" // no answer, or a failure that may pass
	CheckUnverified  CheckState = "unverified"  // only a renewal or a purchase could prove it
	CheckOff         CheckState = "off"         // nothing is configured
)

// Check is the result of one process's check of one system with its own credentials. It contains no secret and no
// person's name.
type Check struct {
	Identity string     `db:"identity"` // of the process
	System   string     `db:"system"`
	State    CheckState `db:"state"`
	Account  string     `db:"account"` // the account of the process there; empty: unknown
	Detail   string     `db:"detail"`
	Code     fault.Code `db:"code"`    // empty: there is no failure
	Next     string     `db:"next"`    // what an administrator can do; empty: nothing
	Request  int64      `db:"request"` // the last request that this result answers
	FoundAt  time.Time  `db:"found_at"`
}

// Good reports whether the system needs no action.
func (c Check) Good() bool { return c.State == CheckWorks || c.State == CheckOff }

// CheckRequest is an administrator's request for new checks.
type CheckRequest struct {
	Number  int64     `db:"number"` // 0: there was none
	AskedAt time.Time `db:"asked_at"`
}

// checkLife is how long the results of a process that is gone are kept.
const checkLife = time.Hour

// SaveChecks replaces the results of a process, and deletes the results of processes that are gone. The primary key
// serves the first; there are a few rows per process, so the second reads them all.
func (s *Store) SaveChecks(ctx context.Context, identity string, request int64, checks []Check) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM process_checks WHERE identity = $1`, identity)
	for _, c := range checks {
		batch.Queue(`INSERT INTO process_checks (identity, system, state, account, detail, code, next, request)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, identity, c.System, c.State, c.Account, c.Detail, c.Code, c.Next, request)
	}
	batch.Queue(`DELETE FROM process_checks c WHERE found_at < now() - $1::interval
		AND NOT EXISTS (SELECT FROM processes p WHERE p.identity = c.identity)`, checkLife)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// ChecksOf lists the results of these processes, by process and system. The primary key serves it.
func (s *Store) ChecksOf(ctx context.Context, identities []string) ([]Check, error) {
	return core.List[Check](ctx, s.db, `SELECT identity, system, state, account, detail, code, next, request, found_at
		FROM process_checks WHERE identity = ANY ($1) ORDER BY identity, system`, identities)
}

// RequestChecks requests new checks from all processes. The table has one row.
func (s *Store) RequestChecks(ctx context.Context) error {
	return s.db.Do(ctx, `INSERT INTO check_requests AS r (number) VALUES (1)
		ON CONFLICT (single) DO UPDATE SET number = r.number + 1, asked_at = now()`)
}

// LastCheckRequest returns the last request for checks; zero: there was none. The table has one row.
func (s *Store) LastCheckRequest(ctx context.Context) (CheckRequest, error) {
	all, err := core.List[CheckRequest](ctx, s.db, `SELECT number, asked_at FROM check_requests`)
	if err != nil || len(all) == 0 {
		return CheckRequest{}, err
	}
	return all[0], nil
}

// About is what PostgreSQL reports of itself and of this connection.
type About struct {
	Version  string `db:"version"`
	Database string `db:"database"`
	Role     string `db:"role"`
	Schema   int64  `db:"schema"` // the last migration that was applied
}

// About returns which database this is. It reads the last row of the migrations by their key.
func (s *Store) About(ctx context.Context) (About, error) {
	return core.One[About](ctx, s.db, fault.New(fault.StoreUnavailable, "the database does not say what it is"),
		`SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
			current_database()::text AS database, current_user::text AS role,
			(SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied) AS schema`)
}
