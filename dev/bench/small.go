package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const (
	smallJobs     = 300
	smallInFlight = 100
	smallParallel = 50 // activities at a time, in ours and in the baseline
	smallWarmUp   = 20
)

// smallSettings are those of a worker that is busy with small jobs.
var smallSettings = map[string]string{
	"STAGECOACH_DELIVERY_PARALLEL": fmt.Sprint(smallParallel),
	"STAGECOACH_TELEGRAM_RATE":     "1000000", // Telegram's real limit, 30 a second, is not measured
}

// measureSmall counts jobs per second in a closed loop, against workflows of the same shape that do nothing.
func measureSmall(ctx context.Context, m *machine) ([]row, error) {
	var ours, bare []float64
	err := m.takeTurns(ctx, smallSettings, func(r *rig) error {
		perSecond, err := r.smallJobs(ctx)
		ours = append(ours, perSecond)
		return err
	}, func(r *rig) error { // the rig's own worker is idle
		perSecond, err := closedLoop(smallWarmUp, smallJobs, func(i int) error { return r.bareJob(ctx, i) })
		bare = append(bare, perSecond)
		return err
	})
	if err != nil {
		return nil, err
	}

	return []row{
		measured("small jobs of 1 KiB, 100 in flight", "jobs/s", ours...).against(bareName, bare...).atLeast(0.85),
	}, nil
}

func (r *rig) smallJobs(ctx context.Context) (perSecond float64, err error) {
	users := make([]account.User, smallWarmUp+smallJobs)
	files := make([]delivery.File, len(users))
	sums := make([]string, len(users))
	for i := range users {
		if users[i], err = r.user(ctx); err != nil {
			return 0, err
		}
		if files[i], sums[i], err = r.randomFile(ctx, 1024); err != nil {
			return 0, err
		}
	}

	perSecond, err = closedLoop(smallWarmUp, smallJobs, func(i int) error {
		job, err := r.request(ctx, users[i], files[i])
		if err != nil {
			return err
		}
		return r.await(ctx, job)
	})

	for i := range users {
		if err == nil {
			err = r.checkChat(ctx, *users[i].TelegramID, 1, sums[i])
		}
	}
	return perSecond, err
}

// closedLoop starts a job whenever one has ended, and returns how many ended per second. The first ones are not measured.
func closedLoop(warmUp, jobs int, job func(i int) error) (perSecond float64, err error) {
	series := func(from, to int) error {
		var running errgroup.Group
		running.SetLimit(smallInFlight)
		for i := from; i < to; i++ {
			running.Go(func() error { return job(i) })
		}
		return running.Wait()
	}
	if err := series(0, warmUp); err != nil {
		return 0, err
	}

	began := time.Now()
	err = series(warmUp, warmUp+jobs)
	return float64(jobs) / time.Since(began).Seconds(), err
}

const (
	bareQueue     = "bench-bare"
	bareFairQueue = "bench-bare-fair" // in which users take turns
	bareName      = "a workflow with one empty activity in a queue of its own, in turn"
)

func (r *rig) startBareWorker() error {
	bare, _, err := startChild(bareKind, r.temporal.Address)
	if err == nil {
		r.bare = bare
	}
	return err
}

// bareJob runs a bare workflow of a user, whose activities wait for their turn.
func (r *rig) bareJob(ctx context.Context, user int) error {
	run, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		TaskQueue: bareQueue, Priority: temporal.Priority{FairnessKey: strconv.Itoa(user)},
	}, bareWorkflow, user)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

// bareWorkflow has the shape of a small job: its activity waits in a queue that another worker serves.
func bareWorkflow(ctx workflow.Context, n int) error {
	ctx = workflow.WithActivityOptions(
		ctx, workflow.ActivityOptions{TaskQueue: bareFairQueue, StartToCloseTimeout: time.Minute},
	)
	return workflow.ExecuteActivity(ctx, bareActivity, n).Get(ctx, nil)
}

func bareActivity(context.Context, int) error { return nil }

// runBareWorker runs the baseline's worker.
func runBareWorker(ctx context.Context, address string, out io.Writer) error {
	server, err := dialTemporal(ctx, address)
	if err != nil {
		return err
	}
	defer server.Close()

	w := worker.New(server, bareQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: smallParallel,
		WorkflowTaskPollerBehavior:         worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}), // as ours
	})

	w.RegisterWorkflow(bareWorkflow)
	w.RegisterWorkflow(bareEntity)
	w.RegisterWorkflow(bareTimer)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()

	fair := worker.New(server, bareFairQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: smallParallel, DisableWorkflowWorker: true,
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 2}), // as ours
	})
	fair.RegisterActivity(bareActivity)
	if err := fair.Start(); err != nil {
		return err
	}
	defer fair.Stop()

	fmt.Fprintln(out, "ready")
	<-ctx.Done()
	return nil
}
