package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
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
	"google.golang.org/protobuf/types/known/timestamppb"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/temporalio"
)

const (
	sweepMillis   = 2000 // aims of a quiet sweep
	sweepRequests = 20
	firstLive     = 1_000_000_000 // ids of live rows begin above those of other figures
)

// measureScaleSweep fills the record with live rows, a quarter of each workload, whose workflows all run according to a
// stand-in for Temporal. It measures a sweep while nothing happens. The baseline compares all rows with all workflows
// without pauses: a sweep of release 0.1.0.
func measureScaleSweep(ctx context.Context, m *machine) ([]row, error) {
	live, err := scaleSize()
	if err != nil {
		return nil, err
	}
	if err := fillLive(ctx, m, live/4); err != nil {
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
	return scaleSQL(ctx, m, `DELETE FROM reconciler_marks;
		INSERT INTO reconciler_marks VALUES (now() - interval '61 seconds', pg_snapshot_xmax(pg_current_snapshot()))`)
}

// fillLive writes live rows, the same number of each workload, by COPY and without triggers.
func fillLive(ctx context.Context, m *machine, each int) error {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	var user int64
	if err := conn.QueryRow(ctx, `INSERT INTO users (id, status) OVERRIDING SYSTEM VALUE VALUES ($1, 'ACTIVE') RETURNING id`, firstLive).
		Scan(&user); err != nil {
		return err
	}

	at := time.Now().Add(-24 * time.Hour)
	for _, table := range []struct {
		name    string
		columns []string
		row     func(i int) []any
	}{
		{
			"jobs", []string{"id", "idempotency_key", "user_id", "file_id", "file_name", "size", "source", "created_at", "workflow_started_at"},
			func(i int) []any {
				return []any{firstLive + i, liveKey(lifecycle.WorkloadDelivery, i), user, 1, "f", 1, "api", at, at}
			},
		},
		{
			"tasks", []string{"id", "workspace_id", "title", "creator_id", "status", "created_at", "workflow_started_at"},
			func(i int) []any { return []any{firstLive + i, 1, "a task", user, "NEW", at, at} },
		},
		{
			"download_jobs", []string{"id", "user_id", "book_id", "media_type", "source", "source_url", "created_at_utc", "workflow_started_at"},
			func(i int) []any {
				return []any{firstLive + i, user, firstLive + i, "text", "web", "magnet:?xt=urn:btih:0", at, at}
			},
		},
		{
			"transactions", []string{"id", "hash", "wallet", "lt", "amount_nano", "sender", "comment", "created_at", "workflow_started_at"},
			func(i int) []any {
				return []any{
					firstLive + i, liveKey(lifecycle.WorkloadTransaction, i), "0:" + strings.Repeat("a", 64), firstLive + i, 1, "0:bb", "ada", at, at,
				}
			},
		},
	} {
		m.say("%s: %d live rows", table.name, each)
		if err := copyRows(ctx, m, table.name, table.columns, each, table.row); err != nil {
			return err
		}
	}

	m.say("vacuum")
	return scaleSQL(ctx, m, `VACUUM ANALYZE jobs; VACUUM ANALYZE tasks; VACUUM ANALYZE download_jobs; VACUUM ANALYZE transactions`)
}

// liveKey is the key of the workflow of the ith live row.
func liveKey(workload string, i int) string {
	switch id := strconv.Itoa(firstLive + i); workload {
	case lifecycle.WorkloadTask:
		return id
	case lifecycle.WorkloadDownload:
		return fmt.Sprintf("%d/%s/text", firstLive, id)
	default:
		return scaleHash(firstLive + i)
	}
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
		if !strings.Contains(request.Query, fmt.Sprintf(`WorkflowType = %q AND ExecutionStatus = "Running"`, workload.WorkflowType())) {
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
				Execution: &commonpb.WorkflowExecution{WorkflowId: workload.Name() + "/" + liveKey(workload.Name(), n), RunId: "a"},
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
			Transactions: &service.Transactions{Temporal: r, Store: m.store, Log: quiet, StuckAfter: time.Hour, Monitored: "0:" + strings.Repeat("a", 64)},
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
