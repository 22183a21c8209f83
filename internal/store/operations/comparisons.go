package operations

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// Comparison is the last comparison of all live rows of a workload with all its running workflows.
type Comparison struct {
	Workload   string    `db:"workload"`
	BeganAt    time.Time `db:"began_at"`
	AnsweredAt time.Time `db:"answered_at"` // all workflows whose rows were older then have reported their revisions
	Live       int       `db:"live"`        // rows
	Running    int       `db:"running"`     // workflows
}

// SaveComparison replaces a workload's last comparison.
func (s *Store) SaveComparison(ctx context.Context, c Comparison) error {
	return s.db.Do(ctx, `INSERT INTO reconciler_comparisons (workload, began_at, answered_at, live, running) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workload) DO UPDATE
		SET began_at = excluded.began_at, answered_at = excluded.answered_at, live = excluded.live, running = excluded.running`,
		c.Workload, c.BeganAt, c.AnsweredAt, int64(c.Live), int64(c.Running))
}

// Comparisons returns the last comparison of each workload.
func (s *Store) Comparisons(ctx context.Context) ([]Comparison, error) {
	return core.List[Comparison](ctx, s.db,
		`SELECT workload, began_at, answered_at, live, running FROM reconciler_comparisons ORDER BY workload`)
}
