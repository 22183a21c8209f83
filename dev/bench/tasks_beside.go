package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

const (
	besideRounds  = 2
	besideStreams = 8 // more than the number of slots
	besideSpeed   = 1 << 20
	besideSize    = 512 << 20 // longer than the measurement
	besideClaims  = 100
)

// measureBeside compares the time of a claim while every slot for deliveries is taken and more are waiting with that of
// a claim when there are no deliveries. The streams are slow: they take slots, not the processor.
func measureBeside(ctx context.Context, m *machine) ([]row, error) {
	var full, free []float64
	for range besideRounds {
		for _, streams := range []int{besideStreams, 0} {
			err := m.withRig(ctx, rigOptions{}, func(r *rig) error {
				took, err := r.claimBeside(ctx, streams)
				if streams > 0 {
					full = append(full, took...)
				} else {
					free = append(free, took...)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}

	const name = "a claim while all slots for deliveries are taken, "
	return []row{
		measured(name+"p50", "ms", quantile(full, 0.5)).against("without deliveries", quantile(free, 0.5)).atMostTimes(1.2),
		measured(name+"p99", "ms", quantile(full, 0.99)).against("without deliveries", quantile(free, 0.99)),
	}, nil
}

// claimBeside claims one task after the other while so many deliveries are in flight or waiting.
func (r *rig) claimBeside(ctx context.Context, streams int) (took []float64, err error) {
	team, err := r.team(ctx, nil)
	if err != nil {
		return nil, err
	}

	tasks, err := team.make(ctx, claimWarmUp+besideClaims)
	if err != nil {
		return nil, err
	}
	defer team.forget(ctx)

	if streams > 0 {
		stop, err := r.occupy(ctx, streams)
		if err != nil {
			return nil, err
		}
		defer stop()
	}

	for i, task := range tasks {
		began := time.Now()
		if _, err := r.tasks.Claim(ctx, team.agent, task.ID, "mine", fmt.Sprintf("beside-%d", task.ID)); err != nil {
			return nil, err
		}
		if i >= claimWarmUp {
			took = append(took, milliseconds(time.Since(began)))
		}
	}

	return took, nil
}

// occupy starts so many long deliveries and returns the function that ends them.
func (r *rig) occupy(ctx context.Context, streams int) (stop func(), err error) {
	slow := map[string]any{"match": "sendDocument", "kind": "throttle", "bytes_per_second": besideSpeed}
	if err := post(ctx, r.ground.StandIns.Telegram+"/_/faults", slow); err != nil {
		return nil, err
	}

	user, err := r.user(ctx)
	if err != nil {
		return nil, err
	}

	file, _, err := r.randomFile(ctx, besideSize)
	if err != nil {
		return nil, err
	}

	var jobs []delivery.Job
	for range streams {
		job, err := r.request(ctx, user, file)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}

	stop = func() {
		for _, job := range jobs {
			_, _ = r.deliveries.Cancel(ctx, user, job.ID) // the rig is stopped in any case
		}
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		streaming := 0
		for _, job := range jobs {
			now, err := r.store.JobByID(ctx, job.ID)
			if err != nil {
				return stop, err
			}
			if now.State == lifecycle.DeliveryStreaming {
				streaming++
			}
		}

		if streaming >= streams/2 {
			return stop, nil
		}
		if time.Now().After(deadline) {
			return stop, fmt.Errorf("only %d deliveries stream", streaming)
		}
	}
}

// variants are settings of a worker that are compared with the defaults.
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
			var claims claimTimes
			if err := r.claims(ctx, &claims, byID); err != nil {
				return err
			}
			jobs, err := r.smallJobs(ctx)
			into.claims, into.jobs = append(into.claims, claims.perSecond...), append(into.jobs, jobs.perSecond)
			return err
		})
	}

	for range rigRounds {
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
