package store_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// mayScan are parts of the statements that scan whole tables on purpose, and why they may.
var mayScan = map[string]string{
	`INSERT INTO counts (kind, key, n, ended) SELECT kind, key, n, true`: "the count of all rows that have ended, once a day",
	`SELECT id, status, created_at, finished_at, extract(epoch`:          "statistics of tasks: the 10,000 that they look at are half of all here",
	`DELETE FROM boards WHERE (workload = `:                              "a person who is forgotten has half of all rows here",
	`UPDATE jobs SET file_name = 'removed'`:                              "the same",
	`UPDATE download_jobs SET content_path = CASE WHEN status`:           "the same",
	`UPDATE events SET xid = '3'`:                                        "after a restore, once",
	`UPDATE webhooks w SET events_lost = true`:                           "after a restore, once",
	`UPDATE news SET state = 'unknown'`:                                  "after a restore, once",
}

// fillRest fills the ever-growing tables that fillLists leaves out: events of every workload and of books.
var fillRest = `
	SET session_replication_role = replica;
	INSERT INTO events (workload, entity_id, seq, type, to_state, comment, created_at)
		SELECT w, n::text, 2, CASE n % 50 WHEN 0 THEN 'failed' ELSE 't' END, 'S', CASE n % 50 WHEN 0 THEN 'E' ELSE '' END, now() - n * interval '1 minute'
		FROM generate_series(1, 20000) n, unnest('{book,webhook,` + strings.Join(lifecycle.Names(), ",") + `}'::text[]) w;
	INSERT INTO boards (workload, entity_id, chat_id, state, due_at) SELECT 'delivery', n, n, CASE n % 500 WHEN 0 THEN 'shown' ELSE 'final' END, now()
		FROM generate_series(1, 20000) n;
	INSERT INTO news (user_id, workload, entity_id, seq, state, due_at) SELECT n % 1000 + 1, 'task', n::text, 1, CASE n % 500 WHEN 0 THEN 'due' ELSE 'sent' END, now()
		FROM generate_series(1, 20000) n;
	UPDATE transactions SET created_at = now() - id * interval '1 minute';
	SET session_replication_role = DEFAULT;
	ANALYZE`

// scanned matches the scan of a table of rows, events, live messages or notifications.
var scanned = regexp.MustCompile(`Seq Scan on (` + strings.Join(store.RowTables(), "|") + `|[a-z]+_events|boards|news)\b`)

// scans lists the statements for which PostgreSQL scans an ever-growing table in a generic plan. Those of chosen are
// planned for their values: TestNightListsReadFewRows checks them.
func (s *statements) scans() (faults []string) {
	ctx := context.Background()
	conn, err := connectTemplate(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	defer conn.Close(ctx)

	tx, err := conn.Begin(ctx) // its writes are rolled back
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = tx.Rollback(ctx) }()

	for _, statement := range []string{fillLists, fillRest, `SET LOCAL plan_cache_mode = force_generic_plan`} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return []string{err.Error()}
		}
	}

	for _, sql := range slices.Sorted(maps.Keys(s.types)) {
		if s.chosen[sql] || !isStatement.MatchString(sql) || s.mayScan(sql) {
			continue
		}
		plan, err := genericPlan(ctx, tx, sql, len(s.types[sql]))
		if err != nil {
			faults = append(faults, fmt.Sprintf("%v\n\t%s", err, sql))
		} else if table := scanned.FindString(plan); table != "" {
			faults = append(faults, fmt.Sprintf("%s:\n\t%s", table, sql))
		}
	}

	return faults
}

func (s *statements) mayScan(sql string) bool {
	for part := range mayScan {
		if strings.Contains(sql, part) {
			return true
		}
	}
	return false
}

// genericPlan is PostgreSQL's plan for any values of the parameters.
func genericPlan(ctx context.Context, tx pgx.Tx, sql string, parameters int) (plan string, err error) {
	return plan, pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `PREPARE looked_at AS `+sql); err != nil {
			return err
		}

		execute := `EXPLAIN EXECUTE looked_at`
		if parameters > 0 {
			execute += `(NULL` + strings.Repeat(`, NULL`, parameters-1) + `)`
		}

		rows, err := tx.Query(ctx, execute)
		if err != nil {
			return err
		}

		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}

		plan = strings.Join(lines, "\n")
		_, err = tx.Exec(ctx, `DEALLOCATE looked_at`)
		return err
	})
}
