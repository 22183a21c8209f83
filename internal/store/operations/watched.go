package operations

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// Watched is what the service knows about itself besides its workloads.
type Watched struct {
	Alerts    []notice.OpenAlert `db:"alerts"`    // by kind
	Findings  []Finding          `db:"findings"`  // the last ones, newest first
	Outside   []OutsideSystem    `db:"outside"`   // the systems ever called, by name
	Processes []Process          `db:"processes"` // those with a heartbeat within an age, by service
}

// Watched reads all of it in one statement, because pages and metrics request it often. Served by the index alerts_open
// and the key of reconciler_findings; the other two tables have few rows.
func (s *Store) Watched(ctx context.Context, age time.Duration, findings int) (Watched, error) {
	return core.One[Watched](ctx, s.db, fault.New(fault.Internal, "a statement without a table has no row"), `SELECT
		(SELECT coalesce(jsonb_agg(to_jsonb(a) ORDER BY kind), '[]') FROM alerts a WHERE resolved_at IS NULL) AS alerts,
		(SELECT coalesce(jsonb_agg(to_jsonb(f) ORDER BY id DESC), '[]') FROM (
			SELECT `+findingColumns+` FROM reconciler_findings ORDER BY id DESC LIMIT $2) f) AS findings,
		(SELECT coalesce(jsonb_agg(to_jsonb(o) ORDER BY name), '[]') FROM outside_systems o) AS outside,
		(SELECT coalesce(jsonb_agg(to_jsonb(p) ORDER BY service, identity), '[]') FROM processes p
			WHERE beat_at > now() - $1::interval) AS processes`, age, findings)
}
