package core

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Part is what the statements about all workloads must know of one.
type Part struct {
	Workload string // one of lifecycle.Workloads
	Table    string // of its rows
	Events   string // the table of its events

	Live     string            // the states of the live rows of user $1, by an index of these
	Resting  []string          // states that are no ends, though nothing is under way in them
	Counts   []Counts          // how its rows are counted
	Queried  map[string]string // what a status counts by a query: table and condition by kind
	Errors   string            // which of its events have an error in their comment; empty: none
	Alerts   []string          // kinds of alerts about it
	Quotas   []Quota
	Retained []Retention
	Forget   func(batch *pgx.Batch, user, by int64) // removes a user from its tables; nil: they contain no user
}

// Counts are statements that return kind, key and n.
type Counts struct {
	Live  string // of the rows that may still change, which a partial index serves: they are counted anew each time
	Ended string // of all rows that have ended; empty: none is counted
	Added string // what the events in the table fresh, each with a change of the state, add to those that have ended
}

// CountStates counts the rows of a workload by the column of their state.
func CountStates[S ~string](workload, table, column string, live, ended []S) Counts {
	rows := func(states []S) string {
		return `SELECT '` + workload + `' AS kind, ` + column + ` AS key, count(*) AS n FROM ` + table + `
			WHERE ` + column + ` IN ` + SetOf(states) + ` GROUP BY ` + column
	}
	return Counts{
		Live: rows(live), Ended: rows(ended),
		Added: `SELECT workload AS kind, to_state AS key, count(*) AS n FROM fresh
			WHERE workload = '` + workload + `' AND to_state IN ` + SetOf(ended) + ` GROUP BY 1, 2`,
	}
}

// Retention finds and deletes old rows of a kind.
type Retention struct {
	Kind   string
	Policy string // the name of their policy
	// Page returns up to $2 rows with ids above $1, ascending: id, when it was created, and whether it ended before $3
	// and nothing needs it any more. A row that was created after $3 cannot have ended before.
	Page string
	// Drops delete the rows with the ids $1, after everything that belongs to them.
	Drops []string
	// ByAge deletes up to $1 rows that are older than $2, of a kind without ids. It replaces Page and Drops.
	ByAge string
}

// OfEntity deletes what belongs to entities of a workload, by their ids.
func OfEntity(workload string, drops ...string) []string {
	return append([]string{
		`DELETE FROM boards WHERE workload = '` + workload + `' AND entity_id = ANY ($1)`,
		`DELETE FROM events WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
	}, drops...)
}

// EventsOf is the retention of a workload's events; live finds the entity of an event e while it has not ended. The page
// is chosen first: PostgreSQL would read all entities if it had to ask for each event of the table.
func EventsOf(workload, live string) Retention {
	return Retention{
		Kind: workload + "_events", Policy: keepEvents,
		Page: `SELECT id, created_at AS made, created_at < $3 AND NOT EXISTS (SELECT 1 FROM ` + live + `) AS old
			FROM (SELECT id, entity_id, created_at FROM events WHERE workload = '` + workload + `' AND id > $1 ORDER BY id LIMIT $2) e ORDER BY id`,
		Drops: []string{`DELETE FROM events WHERE workload = '` + workload + `' AND id = ANY ($1)`},
	}
}

// keepEvents is the policy for the events of ended entities.
const keepEvents = "events"

// RemovedText replaces a required text of a person who was forgotten.
const RemovedText = "removed"

// Counted returns the counts of kinds $1.
const Counted = `SELECT kind, key, n FROM counts WHERE kind = ANY ($1)`

// OverviewCounts are what a status counts in one query.
type OverviewCounts struct {
	Counts         map[string]map[string]int64 // by kind and key: those of a workload by its name and state
	OpenFindings   int64                       // up to 10,000
	RecentFindings int64                       // the same
}

// DrivenRow is the row that a workflow drives, as the reconciler compares it with a running workflow.
type DrivenRow struct {
	Key     string        `db:"key"` // the workflow's id without the workload's name
	Entity  string        `db:"entity"`
	Over    bool          `db:"over"`    // a workflow has nothing left to do
	Changed time.Duration `db:"changed"` // since the row changed
}

// DrivenRows are the rows whose workflows have the requested keys.
type DrivenRows struct {
	Rows     map[string]DrivenRow // by key
	Possible map[string]bool      // keys that a row can have; about the others nothing is known
}

// DrivenByHash returns the rows whose workflows have hashes of 64 hexadecimal digits as keys.
func (db *DB) DrivenByHash(ctx context.Context, keys []string, query string) (DrivenRows, error) {
	possible := map[string]bool{}
	for _, key := range keys {
		possible[key] = len(key) == 64
	}
	return db.Driven(ctx, possible, query, keys)
}

// Driven returns the rows of the keys that a row can have.
func (db *DB) Driven(ctx context.Context, possible map[string]bool, query string, args ...any) (DrivenRows, error) {
	found, err := List[DrivenRow](ctx, db, query, args...)
	rows := make(map[string]DrivenRow, len(found))
	for _, row := range found {
		rows[row.Key] = row
	}
	return DrivenRows{Rows: rows, Possible: possible}, err
}
