package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/telegramsim"
)

// measureHistory reads what jobs have left in Temporal: the events of their histories, and the actions that Temporal
// Cloud would bill.
func measureHistory(ctx context.Context, m *machine) (rows []row, err error) {
	const slowSize = 6 << 20
	options := rigOptions{telegram: telegramsim.Options{DiscardFiles: true}}
	err = m.withRig(ctx, options, func(r *rig) error {
		if err := r.startBareWorker(); err != nil {
			return err
		}
		if err := r.warmUp(ctx); err != nil {
			return err
		}

		run, err := r.bareJob(ctx, bareWorkflow, 1)
		if err != nil {
			return err
		}

		bare, err := r.cost(ctx, run.GetID())
		if err != nil {
			return err
		}

		for _, job := range []struct {
			name  string
			size  int64
			where string
			fault *sim.Fault
		}{
			{"small job", 1024, "", nil},
			{"slow job of 6 s", slowSize, r.ground.StandIns.Yandex, &sim.Fault{Match: "/download/", Kind: "throttle", BytesPerSecond: slowSize / 6, Times: 1}},
			{"job with two retries", 1024, r.ground.StandIns.Telegram, &sim.Fault{Match: "sendDocument", Kind: "internal_error", Times: 2}},
		} {
			if job.fault != nil {
				if err := post(ctx, job.where+"/_/faults", job.fault); err != nil {
					return err
				}
			}

			paid, err := r.deliverAndCount(ctx, job.size)
			if err != nil {
				return fmt.Errorf("%s: %w", job.name, err)
			}

			rows = append(rows,
				measured(job.name, "events", paid.events).against(bareName, bare.events).atMost(30),
				measured(job.name, "actions", paid.actions).against(bareName, bare.actions).atMost(12),
				measured(job.name, "heartbeats", paid.heartbeats))
		}

		return nil
	})

	return rows, err
}

// cost is what a workflow used of Temporal.
type cost struct{ events, actions, heartbeats float64 }

// deliverAndCount delivers a new file and returns its cost.
func (r *rig) deliverAndCount(ctx context.Context, size int64) (cost, error) {
	user, err := r.user(ctx)
	if err != nil {
		return cost{}, err
	}

	file, _, err := r.randomFile(ctx, size)
	if err != nil {
		return cost{}, err
	}

	job, err := r.request(ctx, user, file)
	if err != nil {
		return cost{}, err
	}

	watching, stop := context.WithCancel(ctx)
	heartbeats := make(chan float64)
	go func() { heartbeats <- r.countHeartbeats(watching, job.WorkflowID()) }()
	err = r.await(ctx, job)
	stop()
	seen := <-heartbeats
	if err != nil {
		return cost{}, err
	}

	total, err := r.cost(ctx, job.WorkflowID())
	total.heartbeats = seen
	return total, err
}

// cost reads the history of a workflow's last run.
func (r *rig) cost(ctx context.Context, workflowID string) (total cost, err error) {
	return r.costOfRun(ctx, workflowID, "")
}

func (r *rig) costOfRun(ctx context.Context, workflowID, runID string) (total cost, err error) {
	history := r.client.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return total, err
		}

		total.events++
		switch event.EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_MARKER_RECORDED,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_TIMER_STARTED,
			enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			total.actions++
		case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED: // one event for all attempts
			total.actions += float64(event.GetActivityTaskStartedEventAttributes().Attempt)
		}
	}

	return total, nil
}

// countHeartbeats counts those that reach the server, which keeps the time of the last one only. The SDK sends at most
// one every few seconds, so that polling misses none.
func (r *rig) countHeartbeats(ctx context.Context, workflowID string) (seen float64) {
	var last time.Time
	for ctx.Err() == nil {
		for _, at := range r.lastHeartbeats(ctx, workflowID) {
			if at.After(last) {
				last = at
				seen++
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}

	return seen
}

func (r *rig) lastHeartbeats(ctx context.Context, workflowID string) (times []time.Time) {
	answer, err := r.client.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return nil
	}
	for _, pending := range answer.PendingActivities {
		if pending.LastHeartbeatTime != nil && pending.HeartbeatDetails != nil {
			times = append(times, pending.LastHeartbeatTime.AsTime())
		}
	}
	return times
}
