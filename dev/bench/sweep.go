package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/timestamppb"

	"stagecoach/dev/bench/fill"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/temporalio"
)

const (
	liveTasks  = 2000
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
			measured("a quiet sweep of the reconciler over 2,000 live tasks", "ms", took...).
				against("listing their workflows alone", bare...),
			measured("its requests to Temporal", "requests", asked...),
			measured("a comparison of 2,000 live tasks, without pauses", "ms", compared...).
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

const (
	sweepMillis   = 2000 // aims of a quiet sweep
	sweepRequests = 20
)

// measureScaleSweep fills the record with live rows, a quarter of each workload, whose workflows all run according to a
// stand-in for Temporal. It measures a sweep while nothing happens. The baseline compares all rows with all workflows
// without pauses: a sweep of release 0.1.0.
func measureScaleSweep(ctx context.Context, m *machine) ([]row, error) {
	live, err := scaleSize()
	if err != nil {
		return nil, err
	}
	if err := m.record().Live(ctx, live/4); err != nil {
		return nil, err
	}

	temporal := &runningTemporal{each: live / 4, swept: make(chan reconcile.Sweep, 1)}
	r := temporal.reconciler(m)
	var took, asked, wholeTook, wholeAsked []float64
	for i := range sweeps {
		if err := quietMark(ctx, m); err != nil {
			return nil, err
		}

		began := temporal.requests.Load()
		swept := temporal.sweep(ctx, r)
		if swept.Closed+swept.Changed+swept.Findings > 0 || swept.Error != "" {
			return nil, fmt.Errorf("not all is quiet: %+v", swept)
		}
		took, asked = append(took, float64(swept.Millis)), append(asked, float64(temporal.requests.Load()-began))
		if i > 0 {
			continue // one comparison is long
		}

		began = temporal.requests.Load()
		millis, err := temporal.compareAll(ctx, r, live)
		if err != nil {
			return nil, err
		}
		wholeTook, wholeAsked = append(wholeTook, millis), append(wholeAsked, float64(temporal.requests.Load()-began))
	}

	return []row{
		measured(fmt.Sprintf("a quiet sweep of the reconciler over %d live rows", live), "ms", took...).
			against("comparing all", wholeTook...).atMost(sweepMillis),
		measured("its requests to Temporal", "requests", asked...).against("comparing all", wholeAsked...).atMost(sweepRequests),
	}, nil
}

// quietMark lets the next sweep look at nothing that has happened before.
func quietMark(ctx context.Context, m *machine) error {
	return fill.SQL(ctx, m.postgres.URL, `DELETE FROM reconciler_marks;
		INSERT INTO reconciler_marks VALUES (now() - interval '61 seconds', pg_snapshot_xmax(pg_current_snapshot()))`)
}

// runningTemporal stands in for a Temporal that runs a workflow for each live row, and for its lists. It counts requests.
type runningTemporal struct {
	client.Client
	each     int // workflows of each workload
	requests atomic.Int64
	swept    chan reconcile.Sweep
}

// ListWorkflow implements client.Client. Nothing has closed.
func (r *runningTemporal) ListWorkflow(
	_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	r.requests.Add(1)
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for i, workload := range r.workloads() {
		if !strings.Contains(request.Query, fmt.Sprintf(`WorkflowType = %q AND ExecutionStatus NOT IN`, workload.WorkflowType())) {
			continue
		}

		first, _ := strconv.Atoi(string(request.NextPageToken))
		last := min(first+int(request.PageSize), r.each)
		stage, err := converter.GetDefaultDataConverter().ToPayload(lifecycle.Workloads[i].Table.Plain().States[0].State)
		if err != nil {
			return nil, err
		}
		for n := first + 1; n <= last; n++ {
			answer.Executions = append(answer.Executions, &workflowpb.WorkflowExecutionInfo{
				Execution: &commonpb.WorkflowExecution{WorkflowId: workload.Name() + "/" + fill.LiveKey(workload.Name(), n), RunId: "a"},
				StartTime: timestamppb.New(time.Now().Add(-time.Hour)), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
				SearchAttributes: &commonpb.SearchAttributes{
					IndexedFields: map[string]*commonpb.Payload{temporalio.StageAttribute.GetName(): stage},
				},
			})
		}
		if last < r.each {
			answer.NextPageToken = []byte(strconv.Itoa(last))
		}
	}
	return answer, nil
}

// DescribeWorkflowExecution implements client.Client.
func (r *runningTemporal) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	r.requests.Add(1)
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{RunId: "a"}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

// ExecuteWorkflow implements client.Client: the watchers run.
func (r *runningTemporal) ExecuteWorkflow(
	context.Context, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	r.requests.Add(1)
	return nil, nil
}

// SignalWorkflow implements client.Client. It gets the reports of sweeps.
func (r *runningTemporal) SignalWorkflow(_ context.Context, _, _, _ string, arg any) error {
	r.requests.Add(1)
	if swept, ok := arg.(reconcile.Sweep); ok {
		r.swept <- swept
	}
	return nil
}

func (r *runningTemporal) workloads() []service.Workload {
	return service.Services{
		Deliveries: &service.Deliveries{}, Tasks: &service.Tasks{}, Downloads: &service.Downloads{}, Transactions: &service.Transactions{},
	}.Workloads()
}

func (r *runningTemporal) reconciler(m *machine) *reconcile.Reconciler {
	quiet := slog.New(slog.DiscardHandler)
	return &reconcile.Reconciler{
		Temporal: r, Store: m.store, Log: quiet, Every: time.Minute, Pace: time.Nanosecond,
		Workloads: service.Services{
			Deliveries:   &service.Deliveries{Temporal: r, Store: m.store, Log: quiet, Heartbeat: 10 * time.Second},
			Tasks:        &service.Tasks{Temporal: r, Store: m.store, Log: quiet},
			Downloads:    &service.Downloads{Temporal: r, Store: m.store, Log: quiet},
			Transactions: &service.Transactions{Temporal: r, Store: m.store, Log: quiet, StuckAfter: time.Hour, Monitored: service.Monitored{Wallet: "0:" + strings.Repeat("a", 64)}},
		}.Workloads(),
	}
}

// sweep lets a reconciler make one sweep.
func (r *runningTemporal) sweep(ctx context.Context, of *reconcile.Reconciler) reconcile.Sweep {
	sweeping, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = activityEnvironment(sweeping, of).ExecuteActivity("Reconcile")
	}()

	swept := <-r.swept
	stop()
	<-ended
	return swept
}

// compareAll compares all workloads.
func (r *runningTemporal) compareAll(ctx context.Context, of *reconcile.Reconciler, live int) (millis float64, err error) {
	began, rows := time.Now(), 0
	for compared := (reconcile.Compared{}); !compared.Last; {
		value, err := activityEnvironment(ctx, of).ExecuteActivity("Compare", compared.Workload)
		if err == nil {
			err = value.Get(&compared)
		}
		if err != nil {
			return 0, err
		}
		if compared.Findings > 0 || compared.Live != compared.Running {
			return 0, fmt.Errorf("not all is well: %+v", compared)
		}
		rows += compared.Live
	}
	if rows < live/4*4 {
		return 0, fmt.Errorf("%d of %d rows were compared", rows, live)
	}
	return milliseconds(time.Since(began)), nil
}

// activityEnvironment runs the activities of a reconciler without a server.
func activityEnvironment(ctx context.Context, of *reconcile.Reconciler) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Hour)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivityWithOptions(of.Reconcile, activity.RegisterOptions{Name: "Reconcile"})
	env.RegisterActivityWithOptions(of.Compare, activity.RegisterOptions{Name: "Compare"})
	return env
}
