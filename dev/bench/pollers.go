package main

import (
	"context"
	"fmt"
	"maps"
)

// variants are settings of a worker whose worth is measured against the defaults.
var variants = []struct {
	name     string
	settings map[string]string
}{
	{"at most 2 polls", map[string]string{"STAGECOACH_WORKER_MAX_POLLERS": "2"}},
	{"at most 5 polls", map[string]string{"STAGECOACH_WORKER_MAX_POLLERS": "5"}},
	{"at most 10 polls", map[string]string{"STAGECOACH_WORKER_MAX_POLLERS": "10"}},
	{"20 slots of each kind", map[string]string{"STAGECOACH_WORKER_WORKFLOW_SLOTS": "20", "STAGECOACH_WORKER_ACTIVITY_SLOTS": "20"}},
}

// measurePollers counts claims and small jobs per second with each setting and with the defaults, by turns.
func measurePollers(ctx context.Context, m *machine) (rows []row, err error) {
	type speeds struct{ claims, jobs []float64 }
	var usual speeds
	others := make([]speeds, len(variants))
	once := func(settings map[string]string, into *speeds) error {
		options := rigOptions{settings: maps.Clone(smallSettings)}
		maps.Copy(options.settings, settings)
		return m.withRig(ctx, options, func(r *rig) error {
			claims, err := r.claims(ctx)
			if err != nil {
				return err
			}
			jobs, err := r.smallJobs(ctx)
			into.claims, into.jobs = append(into.claims, claims.perSecond...), append(into.jobs, jobs)
			return err
		})
	}
	for range rounds {
		if err := once(nil, &usual); err != nil {
			return nil, err
		}
		for i, v := range variants {
			if err := once(v.settings, &others[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	for i, v := range variants {
		rows = append(rows,
			measured("claims with "+v.name, "claims/s", others[i].claims...).against("the defaults", usual.claims...),
			measured("small jobs with "+v.name, "jobs/s", others[i].jobs...).against("the defaults", usual.jobs...))
	}
	return rows, nil
}
