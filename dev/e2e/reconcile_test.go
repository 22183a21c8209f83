package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities/delivery"
	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	deliverystore "stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// reconcileRig is a record and a Temporal server without any worker: an operator's changes to workflows stay until the
// reconciler runs.
type reconcileRig struct {
	testing.TB
	store        *store.Store
	database     string
	temporal     client.Client
	namespace    string
	deliveries   *deliveries.Service
	tasks        *tasks.Service
	downloads    *downloads.Service
	transactions *transactions.Service
	records      *delivery.Records

	user      account.User
	file      deliverystore.File
	workspace task.Workspace
	wallet    string
	lt        int64
	last      string

	mu      sync.Mutex
	counted map[string]int // findings in the metric
}

func newReconcileRig(t testing.TB) *reconcileRig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}

	ctx, quiet := t.Context(), slog.New(slog.DiscardHandler)
	y := &reconcileRig{TB: t, database: testdb.URL(t), counted: map[string]int{}}
	var err error
	y.store, err = store.Open(ctx, y.database, testdb.Key)
	must(t, err)
	t.Cleanup(y.store.Close)
	server, namespace := testtemporal.Namespace(t)
	y.namespace = namespace
	y.temporal, err = client.Dial(client.Options{HostPort: server.Address, Namespace: namespace, Logger: quiet})
	must(t, err)
	t.Cleanup(y.temporal.Close)
	y.deliveries = &deliveries.Service{Temporal: y.temporal, Store: y.store, Log: quiet}
	y.tasks = &tasks.Service{Temporal: y.temporal, Store: y.store, Log: quiet}
	y.downloads = &downloads.Service{Temporal: y.temporal, Store: y.store, Log: quiet, Off: true}
	y.transactions = &transactions.Service{Temporal: y.temporal, Store: y.store, Log: quiet, StuckAfter: time.Hour}
	y.records = &delivery.Records{Deliveries: y.deliveries}

	chat := int64(7)
	y.user, err = y.store.Accounts.CreateUser(
		ctx, account.User{Role: account.RoleUser, Status: account.UserActive, TelegramID: &chat}, account.NewToken(),
	)

	must(t, err)
	y.exec(`INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now())`)
	y.file, err = y.store.Deliveries.FileByPath(ctx, "/f")
	must(t, err)
	name := "w"
	y.workspace, err = y.tasks.CreateWorkspace(ctx, y.user, tasks.WorkspaceChange{Name: &name}, "")
	must(t, err)
	y.wallet = "0:" + digest("wallet")
	_, err = y.store.Transactions.OpenWallet(ctx, y.wallet, transaction.WalletStart{})
	must(t, err)
	return y
}

func digest(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(of...)))
	return hex.EncodeToString(sum[:])
}

func (y *reconcileRig) exec(sql string, args ...any) {
	y.Helper()
	conn, err := pgx.Connect(y.Context(), y.database)
	must(y, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(y.Context(), sql, args...)
	must(y, err)
}

func (y *reconcileRig) text(sql string, args ...any) (text string) {
	y.Helper()
	conn, err := pgx.Connect(y.Context(), y.database)
	must(y, err)
	defer conn.Close(context.Background())
	must(y, conn.QueryRow(y.Context(), sql, args...).Scan(&text))
	return text
}

// subject is an entity of any workload, as these tests use it.
type subject struct {
	workload, workflowType, entity, workflowID string
	input                                      any
	start                                      func() error // as the product does
	state, reason                              string       // SQL
	end                                        string       // SQL: the row has its end
	remove                                     string       // SQL: the row is gone
}

// make creates a row of a workload without a workflow.
func (y *reconcileRig) make(workload string, n int) *subject {
	y.Helper()
	ctx := y.Context()
	switch workload {
	case lifecycle.WorkloadDelivery:
		job, _, err := y.store.Deliveries.Create(ctx, deliverystore.Job{
			IdempotencyKey: digest("job", n), UserID: y.user.ID, FileID: y.file.ID, FileName: "f", Size: 1,
			Source: deliverystore.SourceAPI,
		}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})
		must(y, err)
		return &subject{
			workload, lifecycle.DeliveryType, strconv.FormatInt(job.ID, 10), job.WorkflowID(), job.ID,
			func() error { return y.deliveries.Start(ctx, job.ID, job.WorkflowID(), job.UserID) },
			`SELECT state FROM jobs WHERE id::text = $1`, `SELECT last_error FROM jobs WHERE id::text = $1`,
			`UPDATE jobs SET state = 'CANCELLED' WHERE id::text = $1`, `DELETE FROM jobs WHERE id::text = $1`,
		}
	case lifecycle.WorkloadTask:
		made, _, err := y.store.Tasks.Create(ctx, y.workspace.ID, []task.NewTask{{Title: "a task of a test", Visibility: "public", Priority: "normal", Labels: []string{}}},
			core.Event{Type: "created", To: "NEW"}, core.Request{UserID: y.user.ID})
		must(y, err)
		return &subject{
			workload, lifecycle.TaskType, strconv.FormatInt(made[0].ID, 10), made[0].WorkflowID(), made[0].ID,
			func() error { return y.tasks.Start(ctx, made[0]) },
			`SELECT status FROM tasks WHERE id::text = $1`,
			`SELECT comment FROM task_events WHERE entity_id = $1 ORDER BY seq DESC LIMIT 1`,
			`UPDATE tasks SET status = 'CANCELLED', status_deadline_at = NULL, finished_at = now() WHERE id::text = $1`,
			`DELETE FROM tasks WHERE id::text = $1`,
		}
	case lifecycle.WorkloadDownload:
		book, err := y.downloads.CreateBook(ctx, y.user, fmt.Sprint("book ", n), "", "")
		must(y, err)
		job, _, err := y.store.Downloads.Create(ctx, download.Download{
			UserID: y.user.ID, BookID: book.ID, MediaType: download.MediaText, Source: "test",
			SourceURL: "magnet:?xt=urn:btih:" + digest(n)[:40],
		}, core.Event{Type: "enqueued", To: "queued"})

		must(y, err)
		return &subject{
			workload, lifecycle.DownloadType, strconv.FormatInt(job.ID, 10), job.WorkflowID(), job.ID,
			func() error { return y.downloads.Launch(ctx, job) },
			`SELECT status FROM download_jobs WHERE id::text = $1`,
			`SELECT coalesce(failure_reason, '') FROM download_jobs WHERE id::text = $1`,
			`UPDATE download_jobs SET status = 'canceled' WHERE id::text = $1`, `DELETE FROM download_jobs WHERE id::text = $1`,
		}
	case lifecycle.WorkloadTransaction:
		y.lt += 10
		t := transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, Deposit: true, Comment: "durov 50", Username: "durov", Stars: 50, PrevLT: y.lt - 10, PrevHash: y.last, LT: y.lt,
			Hash: digest("tx", n), At: time.Now(),
			In: transaction.InMessage{Hash: digest("in", n), Source: "0:" + digest("sender"), Nano: 1_000_000_000},
		}

		y.last = t.Hash
		_, err := y.store.Transactions.IngestChain(ctx, y.wallet, []transaction.ChainTransaction{t}, time.Now())
		must(y, err)
		return &subject{
			workload, lifecycle.TransactionType, t.Hash, lifecycle.TransactionID(t.Hash), t.Hash,
			func() error { return y.transactions.Start(ctx, t.Hash) },
			`SELECT status FROM transactions WHERE hash = $1`, `SELECT error_message FROM transactions WHERE hash = $1`,
			`UPDATE transactions SET status = 'failed', attempt = 1, processing_since = now(), error_message = 'x', error_class = 'non-retryable' WHERE hash = $1`,
			"",
		}
	default:
		y.Fatalf("no live row of %s is known here", workload)
		return nil
	}
}

// timeOut starts a subject's workflow with a timeout that ends it at once, which no workflow code notices.
func (y *reconcileRig) timeOut(s *subject) {
	y.Helper()
	must(y, s.start())
	must(y, y.temporal.TerminateWorkflow(y.Context(), s.workflowID, "", "to start it with a time-out"))
	run, err := y.temporal.ExecuteWorkflow(y.Context(), client.StartWorkflowOptions{
		ID: s.workflowID, TaskQueue: lifecycle.MainQueue, WorkflowExecutionTimeout: time.Second,
	}, s.workflowType, s.input)
	must(y, err)
	_ = run.Get(y.Context(), nil)
}

// pause pauses a subject's workflow, as an operator does in the Web UI.
func (y *reconcileRig) pause(s *subject) {
	y.Helper()
	_, err := y.temporal.WorkflowService().PauseWorkflowExecution(y.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: y.namespace, WorkflowId: s.workflowID, Identity: "operator", Reason: "to look at it", RequestId: s.workflowID,
	})
	must(y, err)
}

// forget deletes a subject's workflow from Temporal, as `temporal workflow delete` does.
func (y *reconcileRig) forget(s *subject) {
	y.Helper()
	_, err := y.temporal.WorkflowService().DeleteWorkflowExecution(y.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: y.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: s.workflowID},
	})
	must(y, err)
	wait.Eventually(
		y, "the workflow is forgotten", func() bool { return y.status(s) == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED },
	)
	wait.Eventually(y, "no list has the workflow", func() bool { // it leaves the lists later
		listed, err := y.temporal.CountWorkflow(y.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: y.namespace, Query: fmt.Sprintf("WorkflowId = %q", s.workflowID),
		})
		return err == nil && listed.Count == 0
	})
}

// status is how a subject's workflow stands; unspecified: there is none.
func (y *reconcileRig) status(s *subject) (status enumspb.WorkflowExecutionStatus) {
	y.Helper()
	wait.Eventually(y, "the workflow is described", func() bool {
		description, err := y.temporal.DescribeWorkflowExecution(y.Context(), s.workflowID, "")
		status = description.GetWorkflowExecutionInfo().GetStatus()
		return err == nil || temporalio.IsNotFound(err)
	})
	return status
}

func (y *reconcileRig) reconciler() *reconcile.Reconciler {
	quiet := slog.New(slog.DiscardHandler)
	return &reconcile.Reconciler{
		Temporal: y.temporal, Namespace: y.namespace, Store: y.store.Operations, Log: quiet, Grace: 2 * time.Second,
		Workloads: all.Services{
			Deliveries: y.deliveries, Tasks: y.tasks, Downloads: y.downloads, Transactions: y.transactions,
		}.Workloads(),
		OnFinding: func(workload, finding string) {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.counted[workload+" "+finding]++
		},
	}
}

// run runs a reconciler's sweeps until the returned function is called.
func (y *reconcileRig) run(r *reconcile.Reconciler) (stop func()) {
	return testtemporal.Repeat(y.TB, r.Reconcile)
}

// sweep makes one sweep that continues from the last one.
func (y *reconcileRig) sweep(r *reconcile.Reconciler, last reconcile.Sweep) (swept reconcile.Sweep) {
	y.Helper()
	y.once(r.Reconcile, last, &swept)
	return swept
}

// once executes an activity.
func (y *reconcileRig) once(run, in, out any) {
	y.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(wait.Patience)
	env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: "once"})
	value, err := env.ExecuteActivity("once", in)
	must(y, err)
	must(y, value.Get(out))
}

// compare has a reconciler compare everything, as the schedule does, until the returned function is called.
func (y *reconcileRig) compare(r *reconcile.Reconciler) (stop func()) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	comparing, cancel := context.WithCancel(y.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for after := ""; comparing.Err() == nil; {
			env := suite.NewTestActivityEnvironment()
			env.SetTestTimeout(10 * time.Minute)
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: comparing})
			env.RegisterActivityWithOptions(r.Compare, activity.RegisterOptions{Name: "Compare"})

			var compared reconcile.Compared
			if value, err := env.ExecuteActivity("Compare", after); err == nil {
				_ = value.Get(&compared)
			}
			if after = compared.Workload; compared.Last {
				after = ""
			}
		}
	}()

	return func() { cancel(); <-ended }
}

// TestLongReconcileTable does everything that can be done to a workflow, for every workload, with two reconcilers
// running concurrently. They find what leaves a trace by themselves, and a comparison finds the rest. Each incident is
// repaired, listed and counted once.
func TestLongReconcileTable(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	type happening struct {
		name          string
		happens       func(*subject)
		finding, done string
		ends          bool // the row
		runs          bool // a workflow, afterwards
		traceless     bool // only a comparison finds it
	}

	started := func(s *subject) { must(t, s.start()) }
	happenings := []happening{
		{name: "nothing", happens: started, runs: true},
		{name: "paused", happens: func(s *subject) { started(s); y.pause(s) }, runs: true},
		{name: "never started", happens: func(*subject) {}, finding: operations.FindingNotStarted, done: operations.DoneStarted, runs: true},
		{name: "terminated", happens: func(s *subject) {
			started(s)
			must(t, y.temporal.TerminateWorkflow(t.Context(), s.workflowID, "", "by hand"))
		}, finding: operations.FindingTerminated, done: operations.DoneEnded, ends: true},
		{name: "timed out", happens: y.timeOut, finding: operations.FindingTimedOut, done: operations.DoneEnded, ends: true},
		{name: "deleted", happens: func(s *subject) { started(s); y.forget(s) }, finding: operations.FindingMissing, done: operations.DoneStarted, runs: true, traceless: true},
		{name: "its row has ended", happens: func(s *subject) { started(s); y.exec(s.end, s.entity) }, finding: operations.FindingOver, done: operations.DoneTerminated, ends: true, traceless: true},
		{name: "its row is gone", happens: func(s *subject) {
			started(s)
			y.exec(`DELETE FROM events WHERE entity_id = $1 AND workload = $2`, s.entity, s.workload)
			y.exec(s.remove, s.entity)
		}, finding: operations.FindingNoRow, done: operations.DoneTerminated, traceless: true},
	}

	type trial struct {
		happening
		*subject
	}

	var trials []trial
	for _, workload := range lifecycle.Names() {
		for i, h := range happenings {
			// the ledger keeps rows forever, so the row never existed
			if h.finding == operations.FindingNoRow && workload == lifecycle.WorkloadTransaction {
				hash := digest("never")
				trials = append(trials, trial{h, &subject{
					workload: workload, workflowID: lifecycle.TransactionID(hash), entity: hash,
					start:  func() error { return y.transactions.Start(t.Context(), hash) },
					remove: `DELETE FROM transactions WHERE hash = $1`,
				}})
				continue
			}

			trials = append(trials, trial{h, y.make(workload, i)})
		}
	}

	y.exec(`UPDATE jobs SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE tasks SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE download_jobs SET created_at_utc = now() - interval '1 minute'`)
	y.exec(`UPDATE transactions SET created_at = now() - interval '1 minute'`)
	var settling sync.WaitGroup
	for _, trial := range trials {
		settling.Go(func() { trial.happens(trial.subject) })
	}

	settling.Wait()

	stopFirst, stopSecond := y.run(y.reconciler()), y.run(y.reconciler())
	defer stopSecond()

	findings := func() map[string]operations.Finding {
		list, err := y.store.Operations.Findings(t.Context(), operations.FindingFilter{Limit: 200})
		must(t, err)
		byID := map[string]operations.Finding{}
		for _, f := range list {
			if _, twice := byID[f.WorkflowID]; twice {
				t.Errorf("found twice: %+v", f)
			}
			byID[f.WorkflowID] = f
		}
		return byID
	}

	wanted, traceless := len(lifecycle.Names())*(len(happenings)-2), 3*len(lifecycle.Names())
	defer func() {
		if t.Failed() {
			for _, f := range findings() {
				t.Logf("%+v", f)
			}
		}
	}()

	allDone := func(wanted int) func() bool {
		return func() bool {
			found := findings()
			for _, f := range found {
				if f.Done == "" {
					return false
				}
			}
			return len(found) == wanted
		}
	}

	wait.Eventually(y, "what leaves a trace is found and settled", allDone(wanted-traceless))
	for _, trial := range trials {
		if f, found := findings()[trial.workflowID]; found && trial.traceless {
			t.Errorf("%s, %s was found without a comparison: %+v", trial.workload, trial.name, f)
		}
	}

	defer y.compare(y.reconciler())()
	wait.Eventually(y, "all is found and settled", allDone(wanted))

	stopFirst()
	for _, trial := range trials {
		name := trial.workload + ", " + trial.name
		f := findings()[trial.workflowID]
		if f.Finding != trial.finding || f.Done != trial.done || f.Finding != "" && trial.finding != operations.FindingNoRow && f.Entity != trial.entity {
			t.Errorf("%s: %+v", name, f)
		}
		status := y.status(trial.subject)
		runs := status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED
		if runs != trial.runs {
			t.Errorf("%s: its workflow runs: %v", name, runs)
		}
		if trial.finding == operations.FindingNoRow {
			continue
		}

		state := y.text(trial.state, trial.entity)
		if over := state == "FAILED" || state == "CANCELLED" || state == "failed" || state == "canceled"; over != trial.ends {
			t.Errorf("%s: the row is %s", name, state)
		}
		if reason := y.text(trial.reason, trial.entity); trial.finding == operations.FindingTerminated && reason != "terminated_by_operator" && trial.workload != lifecycle.WorkloadTransaction {
			t.Errorf("%s: the reason is %s", name, reason)
		}
	}

	y.mu.Lock()
	defer y.mu.Unlock()

	for _, workload := range lifecycle.Names() {
		// The first two cause no finding.
		for _, h := range happenings[2:] {
			if n := y.counted[workload+" "+h.finding]; n != 1 {
				t.Errorf("%s %s was counted %d times", workload, h.finding, n)
			}
		}
	}
}
