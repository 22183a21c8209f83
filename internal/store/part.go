package store

import "github.com/jackc/pgx/v5"

// Part is what the statements about all workloads must know of one.
type Part struct {
	Workload string // one of lifecycle.Workloads
	Table    string // of its rows
	Events   string // the table of its events

	state    string            // the column by which the rows are counted; empty: counts says all
	counts   []source          // what else of it is counted
	looks    map[string]string // what a status counts itself, by kind: table and condition; a partial index serves it
	errors   string            // which of its events tell of an error in their comment; empty: none
	quotas   []quota
	retained []retention
	forget   func(batch *pgx.Batch, user, by int64) // takes a user out of its tables; nil: nobody is in them
}

// source is a table that is counted.
type source struct {
	kinds []string // the first one tells when it was compared
	rows  string   // kind, key and n of its rows
}

// sources lists what of a workload is counted, its states first.
func (p Part) sources() []source {
	if p.state == "" {
		return p.counts
	}
	return append([]source{rowsBy(p.state, p.Workload, p.Table)}, p.counts...)
}

// rowsBy counts the rows of a table by a column, under one kind.
func rowsBy(column, kind, table string) source {
	return source{[]string{kind}, `SELECT '` + kind + `' AS kind, ` + column + ` AS key, count(*) AS n
		FROM ` + table + ` GROUP BY ` + column}
}

// retention is how old rows of a kind are found and deleted.
type retention struct {
	kind   string
	policy string // the name of their policy
	// page gives up to $2 rows with ids above $1, ascending: id, when it was made, and whether it ended before $3 and
	// nothing needs it any more. What was made after $3 cannot have ended before.
	page string
	// drops delete the rows with the ids $1, after all that belongs to them.
	drops []string
	// byAge deletes up to $1 rows that are older than $2, of a kind without ids. It stands instead of page and drops.
	byAge string
}

// ofEntity deletes what belongs to entities of a workload, by their ids.
func ofEntity(workload string, drops ...string) []string {
	return append([]string{
		`DELETE FROM boards WHERE workload = '` + workload + `' AND entity_id = ANY ($1)`,
		`DELETE FROM events WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
	}, drops...)
}

// eventsOf is the retention of a workload's events; live finds the entity of an event e while it has not ended.
func eventsOf(workload, live string) retention {
	return retention{
		kind: workload + "_events", policy: keepEvents,
		page: `SELECT id, created_at AS made, created_at < $3 AND NOT EXISTS (SELECT 1 FROM ` + live + `) AS old
			FROM events e WHERE workload = '` + workload + `' AND id > $1 ORDER BY id LIMIT $2`,
		drops: []string{`DELETE FROM events WHERE workload = '` + workload + `' AND id = ANY ($1)`},
	}
}

// keepEvents is the policy of the events of what has ended.
const keepEvents = "events"

// removedText stands where a text has to be and the person who wrote it was forgotten.
const removedText = "removed"
