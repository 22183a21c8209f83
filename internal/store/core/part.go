package core

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Part is what statements across all workloads need to know about one.
type Part struct {
	Workload string // one of lifecycle.Workloads
	Table    string // of its rows
	Events   string // the table of its events

	Live     string            // the states of user $1's live rows, served by an index on them
	Resting  []string          // non-terminal states in which nothing is running
	Counts   []Counts          // how its rows are counted
	Queried  map[string]string // what an overview counts by a query: table and condition by kind
	Errors   string            // which of its events have an error as their comment; empty: none
	Alerts   []AlertKind
	Quotas   []Quota
	Retained []Retention
	End      func(batch *pgx.Batch, users []int64, by int64) // requests the end of users' live rows; nil: they are shared
}

// AlertKind is a kind of incident, with its severity in the Prometheus alert rules.
type AlertKind struct {
	Name     string
	Severity string
}

// Severities of incidents.
const (
	Page = "page" // someone is waiting, or money is at risk: now
	Warn = "warn" // within the working day
)

// Counts are statements that return kind, key and n.
type Counts struct {
	Live  string // of the rows that may still change, served by a partial index: counted anew each time
	Ended string // of all ended rows; empty: none is counted
	Added string // what the events in the table fresh, each with a change of state, add to the ended ones
}

// CountStates counts a workload's rows by their state column.
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
	// Page returns up to $2 rows with ids above $1, ascending: the id, the creation time, and whether the row ended before
	// $3 and is no longer needed. A row created after $3 cannot have ended before.
	Page string
	// Drops delete the rows with the ids $1, after everything that belongs to them.
	Drops []string
	// ByAge deletes up to $1 rows older than $2, of a kind without ids. It replaces Page and Drops.
	ByAge string
}

// OfEntity deletes what belongs to a workload's entities, by their ids.
func OfEntity(workload string, drops ...string) []string {
	return append([]string{
		`DELETE FROM boards WHERE workload = '` + workload + `' AND entity_id = ANY ($1)`,
		`DELETE FROM events WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
		`DELETE FROM requests WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
	}, drops...)
}

// EventsOf is the retention of a workload's events; live finds the entity of an event e until it has ended. The page is
// selected first: otherwise PostgreSQL would read all entities to check each event of the table.
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

// RemovedText replaces a forgotten person's required text.
const RemovedText = "removed"

// Counted returns the counts of kinds $1.
const Counted = `SELECT kind, key, n FROM counts WHERE kind = ANY ($1)`

// OverviewCounts are what an overview counts in one query.
type OverviewCounts struct {
	Counts         map[string]map[string]int64 // by kind and key: a workload's by its name and state
	OpenFindings   int64                       // up to 10,000
	RecentFindings int64                       // up to 10,000
}

// DrivenRow is a row driven by a workflow, as the reconciler compares it with the running workflow.
type DrivenRow struct {
	Key     string        `db:"key"` // the workflow's id without the workload's name
	Entity  string        `db:"entity"`
	Over    bool          `db:"over"`    // a workflow has nothing left to do
	Changed time.Duration `db:"changed"` // since the row changed
}

// DrivenRows are the rows whose workflows have the requested keys.
type DrivenRows struct {
	Rows     map[string]DrivenRow // by key
	Possible map[string]bool      // valid keys; nothing is known about the others
}

// DrivenByHash returns the rows of workflows keyed by hashes of 64 hexadecimal digits.
func (db *DB) DrivenByHash(ctx context.Context, keys []string, query string) (DrivenRows, error) {
	possible := map[string]bool{}
	for _, key := range keys {
		possible[key] = len(key) == 64
	}
	return db.Driven(ctx, possible, query, keys)
}

// Driven returns the rows of the valid keys.
func (db *DB) Driven(ctx context.Context, possible map[string]bool, query string, args ...any) (DrivenRows, error) {
	found, err := List[DrivenRow](ctx, db, query, args...)
	rows := make(map[string]DrivenRow, len(found))
	for _, row := range found {
		rows[row.Key] = row
	}
	return DrivenRows{Rows: rows, Possible: possible}, err
}
