package core

import "github.com/jackc/pgx/v5"

// Part is what the statements about all workloads must know of one.
type Part struct {
	Workload string // one of lifecycle.Workloads
	Table    string // of its rows
	Events   string // the table of its events

	State    string            // the column by which the rows are counted; empty: counts says all
	Counts   []Source          // what else of it is counted
	Looks    map[string]string // what a status counts itself, by kind: table and condition; a partial index serves it
	Errors   string            // which of its events tell of an error in their comment; empty: none
	Alerts   []string          // kinds of alerts about it
	Quotas   []Quota
	Retained []Retention
	Forget   func(batch *pgx.Batch, user, by int64) // takes a user out of its tables; nil: nobody is in them
}

// Source is a table that is counted.
type Source struct {
	Kinds []string // the first one tells when it was compared
	Rows  string   // kind, key and n of its rows
}

// Sources lists what of a workload is counted, its states first.
func (p Part) Sources() []Source {
	if p.State == "" {
		return p.Counts
	}
	return append([]Source{RowsBy(p.State, p.Workload, p.Table)}, p.Counts...)
}

// RowsBy counts the rows of a table by a column, under one kind.
func RowsBy(column, kind, table string) Source {
	return Source{[]string{kind}, `SELECT '` + kind + `' AS kind, ` + column + ` AS key, count(*) AS n
		FROM ` + table + ` GROUP BY ` + column}
}

// Retention is how old rows of a kind are found and deleted.
type Retention struct {
	Kind   string
	Policy string // the name of their policy
	// Page gives up to $2 rows with ids above $1, ascending: id, when it was made, and whether it ended before $3 and
	// nothing needs it any more. What was made after $3 cannot have ended before.
	Page string
	// Drops delete the rows with the ids $1, after all that belongs to them.
	Drops []string
	// ByAge deletes up to $1 rows that are older than $2, of a kind without ids. It stands instead of page and drops.
	ByAge string
}

// OfEntity deletes what belongs to entities of a workload, by their ids.
func OfEntity(workload string, drops ...string) []string {
	return append([]string{
		`DELETE FROM boards WHERE workload = '` + workload + `' AND entity_id = ANY ($1)`,
		`DELETE FROM events WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
	}, drops...)
}

// EventsOf is the retention of a workload's events; live finds the entity of an event e while it has not ended.
func EventsOf(workload, live string) Retention {
	return Retention{
		Kind: workload + "_events", Policy: keepEvents,
		Page: `SELECT id, created_at AS made, created_at < $3 AND NOT EXISTS (SELECT 1 FROM ` + live + `) AS old
			FROM events e WHERE workload = '` + workload + `' AND id > $1 ORDER BY id LIMIT $2`,
		Drops: []string{`DELETE FROM events WHERE workload = '` + workload + `' AND id = ANY ($1)`},
	}
}

// keepEvents is the policy of the events of what has ended.
const keepEvents = "events"

// RemovedText stands where a text has to be and the person who wrote it was forgotten.
const RemovedText = "removed"
