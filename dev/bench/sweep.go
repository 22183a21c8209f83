package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
)

const (
	liveTasks  = 10_000
	sweepQueue = "sweep"
	sweeps     = 5
	listPage   = 1000
)

// counting is a client that counts the reconciler's requests to Temporal.
type counting struct {
	client.Client
	requests atomic.Int64
}

func (c *counting) ListWorkflow(
	ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	c.requests.Add(1)
	return c.Client.ListWorkflow(ctx, request)
}

func (c *counting) DescribeWorkflowExecution(
	ctx context.Context, id, run string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	c.requests.Add(1)
	return c.Client.DescribeWorkflowExecution(ctx, id, run)
}

// measureSweep runs the reconciler on many live tasks without a fault. The baseline only lists their workflows.
func measureSweep(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
		r.worker.stop() // with its reconciler
		r.worker = nil
		team, err := r.team(ctx, nil)
		if err != nil {
			return err
		}
		defer team.forget(ctx)

		if _, err := team.make(ctx, liveTasks); err != nil {
			return err
		}

		var took, asked, compared, bare []float64
		for i := range sweeps + 1 {
			if err := quietMark(ctx, m); err != nil {
				return err
			}

			requests, sweep, whole, err := r.sweep(ctx)
			if err != nil {
				return err
			}

			listed, alone, err := r.listAlone(ctx)
			if err != nil {
				return err
			}
			if i == 0 { // starts what was not started yet, and lists lag
				time.Sleep(5 * time.Second)
				continue
			}
			if whole.Live != liveTasks || whole.Running != liveTasks || listed != liveTasks ||
				sweep.Findings+whole.Findings > 0 || sweep.Error != "" {
				return fmt.Errorf("not all is well: %+v, %+v; %d workflows run", sweep, whole, listed)
			}

			took, asked = append(took, float64(sweep.Millis)), append(asked, float64(requests))
			compared, bare = append(compared, float64(whole.Millis)), append(bare, milliseconds(alone))
		}

		rows = []row{
			measured("a quiet sweep of the reconciler over 10,000 live tasks", "ms", took...).
				against("listing their workflows alone", bare...),
			measured("its requests to Temporal", "requests", asked...),
			measured("a comparison of 10,000 live tasks, without pauses", "ms", compared...).
				against("listing their workflows alone", bare...),
		}

		return nil
	})

	return rows, err
}

// sweep runs one sweep of a reconciler and counts its requests. Then it lets the reconciler compare all tasks.
func (r *rig) sweep(
	ctx context.Context,
) (requests int64, swept reconcile.Sweep, compared reconcile.Compared, err error) {
	quiet := slog.New(slog.DiscardHandler)
	counted := &counting{Client: r.client}
	w := worker.New(r.client, sweepQueue, testtemporal.WorkerOptions())
	w.RegisterWorkflow(sweepOnce)
	w.RegisterWorkflow(compareTasks)
	w.RegisterActivity(&reconcile.Reconciler{
		Temporal: counted, Store: r.store, Log: quiet, Every: 10 * time.Minute, Pace: time.Nanosecond,
		Workloads: service.Services{
			Deliveries: r.deliveries, Tasks: r.tasks, Transactions: r.purchases,
			Downloads: &service.Downloads{Temporal: r.client, Store: r.store, Log: quiet, Off: true},
		}.Workloads(),
	})

	if err := w.Start(); err != nil {
		return 0, swept, compared, err
	}
	defer w.Stop() // ends the activity, too

	options := client.StartWorkflowOptions{TaskQueue: sweepQueue}
	run, err := r.client.ExecuteWorkflow(ctx, options, sweepOnce)
	if err == nil {
		err = run.Get(ctx, &swept)
	}
	if err != nil {
		return 0, swept, compared, err
	}

	requests = counted.requests.Load()
	run, err = r.client.ExecuteWorkflow(ctx, options, compareTasks)
	if err == nil {
		err = run.Get(ctx, &compared)
	}
	return requests, swept, compared, err
}

// compareTasks compares tasks, which follow deliveries.
func compareTasks(ctx workflow.Context) (compared reconcile.Compared, err error) {
	ctx = workflow.WithActivityOptions(
		ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Minute},
	)
	err = workflow.ExecuteActivity(ctx, (*reconcile.Reconciler).Compare, lifecycle.WorkloadDelivery).Get(ctx, &compared)
	return compared, err
}

// sweepOnce returns the reconciler's first sweep.
func sweepOnce(ctx workflow.Context) (swept reconcile.Sweep, err error) {
	ctx = workflow.WithActivityOptions(
		ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Minute},
	)
	workflow.ExecuteActivity(ctx, (*reconcile.Reconciler).Reconcile)
	workflow.GetSignalChannel(ctx, reconcile.SweptSignal).Receive(ctx, &swept)
	return swept, nil
}

// listAlone lists all running workflows of tasks: the least that any reconciler must do.
func (r *rig) listAlone(ctx context.Context) (running int, took time.Duration, err error) {
	began := time.Now()
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: `WorkflowType = "Task" AND ExecutionStatus = "Running"`, PageSize: listPage,
	}

	for {
		page, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return 0, 0, err
		}
		running += len(page.Executions)
		if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
			return running, time.Since(began), nil
		}
	}
}
