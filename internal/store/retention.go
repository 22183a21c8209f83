package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// Retention says for how many days each kind of row is kept after its end; 0: for ever. What moved money (transactions
// with their events, payments, the chain, the ledger) has no place here: it is kept for ever.
type Retention struct {
	Deliveries int `json:"deliveries"` // that have ended, with their events and boards
	Downloads  int `json:"downloads"`  // the same
	Tasks      int `json:"tasks"`      // the same, unless one that is kept waits, or waited, for it
	Events     int `json:"events"`     // of deliveries, downloads and tasks that have ended
	Answers    int `json:"answers"`    // to idempotency keys
	News       int `json:"news"`       // that people were told, or cannot be told
	Alerts     int `json:"alerts"`     // that are over, and told
	Audit      int `json:"audit"`
	Findings   int `json:"findings"` // of the reconciler, about which something was done
}

// Old is one kind of old rows: how they are named and for how many days they are kept.
type Old struct {
	Kind string
	Days int
}

// rateDays is how long a rate's row is kept after its allowance was whole again: until then it differs from no row.
const rateDays = 1

// Kinds lists what is to be deleted, in the order in which it has to be.
func (r Retention) Kinds() (kinds []Old) {
	for _, old := range []Old{
		{"deliveries", r.Deliveries},
		{"downloads", r.Downloads},
		{"tasks", r.Tasks},
		{"delivery_events", r.Events},
		{"download_events", r.Events},
		{"task_events", r.Events},
		{"book_events", r.Events},
		{"answers", r.Answers},
		{"news", r.News},
		{"alerts", r.Alerts},
		{"audit", r.Audit},
		{"findings", r.Findings},
		{"rate_limits", rateDays},
	} {
		if old.Days > 0 {
			kinds = append(kinds, old)
		}
	}

	return kinds
}

// shelf is how rows of a kind are found and deleted.
type shelf struct {
	// page gives up to $2 rows with ids above $1, ascending: id, when it was made, and whether it ended before $3 and
	// nothing needs it any more. What was made after $3 cannot have ended before.
	page string
	// drops delete the rows with the ids $1, after all that belongs to them.
	drops []string
}

// ofEntity deletes what belongs to entities of a workload, by their ids.
func ofEntity(workload string, drops ...string) []string {
	return append([]string{
		`DELETE FROM boards WHERE workload = '` + workload + `' AND entity_id = ANY ($1)`,
		`DELETE FROM events WHERE workload = '` + workload + `' AND entity_id = ANY ($1::bigint[]::text[])`,
	}, drops...)
}

// eventsOf is the shelf of a workload's events; live finds the entity of an event e while it has not ended.
func eventsOf(workload, live string) shelf {
	return shelf{
		page: `SELECT id, created_at AS made, created_at < $3 AND NOT EXISTS (SELECT 1 FROM ` + live + `) AS old
			FROM events e WHERE workload = '` + workload + `' AND id > $1 ORDER BY id LIMIT $2`,
		drops: []string{`DELETE FROM events WHERE workload = '` + workload + `' AND id = ANY ($1)`},
	}
}

var shelves = map[string]shelf{
	"deliveries": {
		page: `SELECT id, created_at AS made, state IN ` + endedJobs + ` AND updated_at < $3 AS old
			FROM jobs WHERE id > $1 ORDER BY id LIMIT $2`,
		drops: ofEntity(lifecycle.WorkloadDelivery, `DELETE FROM jobs WHERE id = ANY ($1)`),
	},
	"downloads": {
		page: `SELECT id, created_at_utc AS made, status IN ` + endedDownloads + ` AND updated_at_utc < $3 AS old
			FROM download_jobs WHERE id > $1 ORDER BY id LIMIT $2`,
		drops: ofEntity(lifecycle.WorkloadDownload, `DELETE FROM download_jobs WHERE id = ANY ($1)`),
	},
	"tasks": {
		page: `SELECT id, created_at AS made, coalesce(finished_at < $3, false) AND NOT EXISTS (
				SELECT 1 FROM task_blockers b JOIN tasks d ON d.id = b.task_id
				WHERE b.blocker_id = t.id AND (d.finished_at IS NULL OR d.finished_at >= $3)) AS old
			FROM tasks t WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE OF t`,
		drops: ofEntity(lifecycle.WorkloadTask,
			`DELETE FROM notices WHERE task_id = ANY ($1)`,
			`DELETE FROM task_watchers WHERE task_id = ANY ($1)`,
			`DELETE FROM task_blockers WHERE task_id = ANY ($1) OR blocker_id = ANY ($1)`,
			`DELETE FROM tasks WHERE id = ANY ($1)`),
	},
	"delivery_events": eventsOf(lifecycle.WorkloadDelivery, `jobs WHERE id = e.entity_id::bigint AND state NOT IN `+endedJobs),
	"download_events": eventsOf(lifecycle.WorkloadDownload, `download_jobs WHERE id = e.entity_id::bigint AND status IN `+liveDownloads),
	"task_events":     eventsOf(lifecycle.WorkloadTask, `tasks WHERE id = e.entity_id::bigint AND finished_at IS NULL`),
	"book_events":     eventsOf(books, `(SELECT 1) kept WHERE false`), // a book does not end: its events are old by their age
	"alerts": {
		page: `SELECT id, opened_at AS made, coalesce(resolved_at < $3, false) AND over_sent_at IS NOT NULL AS old
			FROM alerts WHERE id > $1 ORDER BY id LIMIT $2`,
		drops: []string{`DELETE FROM alerts WHERE id = ANY ($1)`},
	},
	"audit": {
		page:  `SELECT id, created_at AS made, created_at < $3 AS old FROM audit_log WHERE id > $1 ORDER BY id LIMIT $2`,
		drops: []string{`DELETE FROM audit_log WHERE id = ANY ($1)`},
	},
	"findings": {
		page: `SELECT id, found_at AS made, coalesce(done_at < $3, false) AND seen_at < $3 AS old
			FROM reconciler_findings WHERE id > $1 ORDER BY id LIMIT $2`,
		drops: []string{`DELETE FROM reconciler_findings WHERE id = ANY ($1)`},
	},
}

// bins are kinds without numbers, found by their age: each deletes up to $1 rows that are older than $2.
var bins = map[string]string{
	"answers": `DELETE FROM answers WHERE (user_id, key) IN (SELECT user_id, key FROM answers WHERE created_at < now() - $2::interval
		ORDER BY created_at LIMIT $1)`,
	"news": `DELETE FROM news WHERE (user_id, workload, entity_id, seq) IN (SELECT user_id, workload, entity_id, seq FROM news
		WHERE state IN ('sent', 'unknown', 'lost') AND due_at < now() - $2::interval
		ORDER BY due_at LIMIT $1)`,
	// No index: the rows are as many as callers of a day.
	"rate_limits": `DELETE FROM rate_limits WHERE key IN (SELECT key FROM rate_limits WHERE tat < now() - $2::interval LIMIT $1)`,
}

// DeleteOld deletes old rows among up to limit of a kind, those after the one with the number after, in one short
// database transaction. It gives how many it deleted and from where to go on; 0: nothing that old is left. PostgreSQL
// plans it for that limit each time: for any number of rows it would read the tables.
func (s *Store) DeleteOld(ctx context.Context, old Old, after int64, limit int) (deleted, next int64, err error) {
	age := time.Duration(old.Days) * 24 * time.Hour
	if bin, ok := bins[old.Kind]; ok {
		tag, err := s.pool.Exec(ctx, bin, pgx.QueryExecModeCacheDescribe, limit, age)
		if tag.RowsAffected() == int64(limit) {
			next = 1
		}
		return tag.RowsAffected(), next, unavailable(err)
	}

	shelf, ok := shelves[old.Kind]
	if !ok {
		return 0, 0, fault.New(fault.Validation, "there is no such kind of rows").WithField("kind")
	}

	err = s.inLongTx(ctx, func(tx pgx.Tx) error {
		var before time.Time
		if err := tx.QueryRow(ctx, `SELECT now() - $1::interval`, age).Scan(&before); err != nil {
			return err
		}

		type row struct {
			ID   int64     `db:"id"`
			Made time.Time `db:"made"`
			Old  bool      `db:"old"`
		}

		page, err := listIn[row](ctx, tx, shelf.page, pgx.QueryExecModeCacheDescribe, after, limit, before)
		if err != nil {
			return err
		}

		var ids []int64
		for _, row := range page {
			if row.Old {
				ids = append(ids, row.ID)
			}
		}

		if len(page) == limit && page[limit-1].Made.Before(before) {
			next = page[limit-1].ID
		}

		if len(ids) == 0 {
			return nil
		}

		for _, drop := range shelf.drops {
			tag, err := tx.Exec(ctx, drop, ids)
			if err != nil {
				return err
			}
			deleted = tag.RowsAffected() // the last one deletes the rows themselves
		}

		return nil
	})

	return deleted, next, err
}
