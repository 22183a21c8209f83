package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stagecoach/dev/bench/fill"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
)

const (
	deletingFor  = 15 * time.Second // of one kind, at most
	deletingFew  = 1000             // of fewer rows nothing is said
	deletingAim  = 1000             // rows a second
	deletingDays = fill.Days / 3
)

// measureRetention deletes what is older than a third of the time that the record covers, one kind of rows after the
// other, and reads a list of theirs meanwhile. Transactions are kept for ever; sessions and webhooks end with what they
// belong to.
func measureRetention(ctx context.Context, m *machine, events int) (rows []row, err error) {
	policy := operations.Retention{}
	for _, name := range []string{"deliveries", "tasks", "downloads", "events", "answers", "news", "alerts", "audit", "findings"} {
		policy[name] = deletingDays
	}

	for _, old := range m.store.OldKinds(policy) {
		read := besideRetention(m, old.Kind)
		alone, stop := context.WithTimeout(ctx, deletingFor/10)
		quiet := readAgain(alone, read)
		stop()

		beside, stop := context.WithTimeout(ctx, deletingFor)
		reading := make(chan []float64, 1)
		go func() { reading <- readAgain(beside, read) }()

		began := time.Now()
		deleted, err := deleteOld(beside, m, old)
		took := time.Since(began)
		stop()
		busy := <-reading
		if err != nil {
			return rows, fmt.Errorf("retention of %s: %w", old.Kind, err)
		}

		m.say("%s: %d rows deleted in %s", old.Kind, deleted, took.Round(time.Millisecond))
		if deleted < deletingFew {
			continue
		}
		name := fmt.Sprintf("retention of %s with %d events", old.Kind, events)
		rows = append(rows,
			measured(name, "rows/s", float64(deleted)/took.Seconds()).atLeastOf(deletingAim),
			measured(name+", a list meanwhile, p95", "ms", quantile(busy, 0.95)).against("without", quantile(quiet, 0.95)).atMost(scaleAim))
	}

	return rows, nil
}

// besideRetention is the list that somebody reads while rows of a kind are deleted: of the same kind, else of tasks.
func besideRetention(m *machine, kind string) func(context.Context) error {
	switch {
	case slices.Contains([]string{"deliveries", "delivery_events"}, kind):
		return func(ctx context.Context) error {
			_, err := m.store.Jobs(ctx, delivery.Filter{UserID: 1, Limit: scalePage})
			return err
		}
	case slices.Contains([]string{"downloads", "download_events"}, kind):
		return func(ctx context.Context) error {
			_, err := m.store.Downloads(ctx, download.Filter{UserID: 1, Limit: scalePage})
			return err
		}
	default:
		return func(ctx context.Context) error {
			_, err := m.store.Tasks(ctx, task.Filter{Viewer: 1, Limit: scalePage})
			return err
		}
	}
}

// readAgain reads until ctx is over, and returns how many milliseconds each reading took.
func readAgain(ctx context.Context, read func(context.Context) error) (took []float64) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := read(ctx); err != nil {
			return took
		}
		took = append(took, milliseconds(time.Since(began)))
	}
	return took
}

// deleteOld deletes old rows as the nightly workflow does, until none is left or ctx is over.
func deleteOld(ctx context.Context, m *machine, old operations.Old) (deleted int64, err error) {
	for next := int64(0); ; {
		n, after, err := m.store.DeleteOld(ctx, old, next, cleanup.Batch)
		if deleted += n; ctx.Err() != nil {
			return deleted, nil
		}
		if err != nil {
			return deleted, err
		}
		if next = after; next == 0 {
			return deleted, nil
		}
	}
}
