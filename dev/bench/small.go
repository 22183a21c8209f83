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
	"STAGECOACH_TELEGRAM_RATE":     "1000000", // Telegram's real limit, 30 a second, is not to be measured
}

// measureSmall counts jobs per second in a closed loop, against workflows that do nothing: one of the same form as a
// job, and the fastest one there is.
func measureSmall(ctx context.Context, m *machine) ([]row, error) {
	var ours, fair, eager paces
	for range rigRounds {
		// Each has a rig of its own: an in-memory server slows as it fills.
		err := m.withRig(ctx, rigOptions{settings: smallSettings}, func(r *rig) error {
			pace, err := r.smallJobs(ctx)
			ours.add(pace)
			return err
		})
		if err != nil {
			return nil, err
		}

		for _, bare := range []struct {
			kind     any
			measured *paces
		}{{bareFairWorkflow, &fair}, {bareWorkflow, &eager}} {
			err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
				pace, err := r.bareJobs(ctx, bare.kind)
				bare.measured.add(pace)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}

	const name = "small jobs of 1 KiB, 100 in flight"
	return append([]row{
		measured(name, "jobs/s", ours.perSecond...).against(bareFairName, fair.perSecond...).atLeast(0.85),
		measured(name, "jobs/s", ours.perSecond...).against(bareName, eager.perSecond...),
	}, cpuRows("a small job", ours.cpu, bareFairName, fair.cpu)...), nil
}

func (r *rig) smallJobs(ctx context.Context) (done pace, err error) {
	users := make([]account.User, smallWarmUp+smallJobs)
	files := make([]delivery.File, len(users))
	sums := make([]string, len(users))
	for i := range users {
		if users[i], err = r.user(ctx); err != nil {
			return done, err
		}
		if files[i], sums[i], err = r.randomFile(ctx, 1024); err != nil {
			return done, err
		}
	}

	done, err = closedLoop(func(i int) error {
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
	return done, err
}

// pace says how many jobs ended per second, and what processor time each of them used.
type pace struct {
	perSecond float64
	cpu       cpu
}

// paces are those of some rounds.
type paces struct {
	perSecond []float64
	cpu       []cpu
}

func (p *paces) add(one pace) {
	p.perSecond, p.cpu = append(p.perSecond, one.perSecond), append(p.cpu, one.cpu)
}

// closedLoop starts a job whenever one has ended.
func closedLoop(job func(i int) error) (pace, error) {
	return closedLoopOf(smallWarmUp, smallJobs, job)
}

// closedLoopOf is closedLoop with so many jobs, after some that are not measured.
func closedLoopOf(warmUp, jobs int, job func(i int) error) (done pace, err error) {
	series := func(from, to int) error {
		var running errgroup.Group
		running.SetLimit(smallInFlight)
		for i := from; i < to; i++ {
			running.Go(func() error { return job(i) })
		}
		return running.Wait()
	}
	if err := series(0, warmUp); err != nil {
		return done, err
	}

	before, err := cpuNow()
	if err != nil {
		return done, err
	}

	began := time.Now()
	if err := series(warmUp, warmUp+jobs); err != nil {
		return done, err
	}

	done.perSecond = float64(jobs) / time.Since(began).Seconds()
	after, err := cpuNow()
	done.cpu = after.since(before, jobs)
	return done, err
}

const (
	bareQueue     = "bench-bare"
	bareName      = "a workflow with one empty activity"
	bareFairQueue = "bench-bare-fair" // in which users take turns
	bareFairName  = "the same with a queue of its own, in turn"
)

// bareJobs is the same with workflows that do nothing. The rig's own worker is idle.
func (r *rig) bareJobs(ctx context.Context, kind any) (pace, error) {
	if err := r.startBareWorker(); err != nil {
		return pace{}, err
	}
	return closedLoop(func(i int) error { _, err := r.bareJob(ctx, kind, i); return err })
}

func (r *rig) startBareWorker() error {
	bare, _, err := startChild(bareKind, r.temporal.Address)
	if err == nil {
		r.bare = bare
	}
	return err
}

// bareJob runs a bare workflow of a user, whose activities have their turn.
func (r *rig) bareJob(ctx context.Context, kind any, user int) (client.WorkflowRun, error) {
	run, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		TaskQueue: bareQueue, Priority: temporal.Priority{FairnessKey: strconv.Itoa(user)},
	}, kind, user)
	if err != nil {
		return nil, err
	}
	return run, run.Get(ctx, nil)
}

func bareWorkflow(ctx workflow.Context, n int) error { return bareWork(ctx, "", n) }

// bareFairWorkflow has the form of a small job: its activity waits in a queue that another worker serves.
func bareFairWorkflow(ctx workflow.Context, n int) error { return bareWork(ctx, bareFairQueue, n) }

// bareWork runs the empty activity; queue "" is the workflow's own, where the worker runs it at once.
func bareWork(ctx workflow.Context, queue string, n int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: queue, StartToCloseTimeout: time.Minute})
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
	w.RegisterWorkflow(bareFairWorkflow)
	w.RegisterActivity(bareActivity)
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
