package e2e

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	downloadactivities "stagecoach/activities/download"
	taskactivities "stagecoach/activities/task"
	transactionactivities "stagecoach/activities/transaction"
	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store/operations"
	"stagecoach/workflows"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/transaction"
)

// startWorker runs the real workflows with the activities that a reset needs: none transfers files, torrents or money.
func (y *reconcileRig) startWorker() {
	y.Helper()
	quiet := slog.New(slog.DiscardHandler)
	w := worker.New(y.temporal, lifecycle.MainQueue, worker.Options{WorkerStopTimeout: time.Second})
	workflows.Register(w, workflows.Settings{
		Delivery: delivery.Settings{
			TTL: time.Hour, JobTimeout: time.Hour, HeartbeatTimeout: 10 * time.Second, RetryInterval: time.Second,
		},
		Download:    download.Settings{Grace: time.Minute},
		Transaction: transaction.Settings{StuckAfter: time.Hour},
	})

	counted := metrics.New()
	w.RegisterActivity(y.records)
	w.RegisterActivity(&taskactivities.Activities{Store: y.store.Tasks, Temporal: y.temporal, Metrics: counted.Task()})
	w.RegisterActivity(&transactionactivities.Activities{
		Store: y.store.Transactions, Alerts: y.store.Notices, Users: y.store.Accounts, Answers: y.store.Answers, Settings: transactionactivities.Settings{MaxStars: 1000, Reserve: 1},
		Orders: y.transactions, Metrics: counted.Transaction(),
	})
	downloads := &downloadactivities.Activities{Store: y.store.Downloads, Alerts: y.store.Notices, Jobs: y.downloads, Log: quiet}
	w.RegisterActivityWithOptions(func(context.Context, int64) (lifecycle.DownloadRecord, error) {
		return lifecycle.DownloadRecord{Status: lifecycle.DownloadQueued}, nil
	}, activity.RegisterOptions{Name: "AddTorrent"})
	w.RegisterActivityWithOptions(downloads.LoadDownload, activity.RegisterOptions{Name: "LoadDownload"})
	w.RegisterActivityWithOptions(downloads.MoveDownload, activity.RegisterOptions{Name: "MoveDownload"})
	w.RegisterActivityWithOptions(downloads.NoteDownload, activity.RegisterOptions{Name: "NoteDownload"})
	must(y, w.Start())
	y.Cleanup(w.Stop)
}

// shown returns a search attribute of a subject's newest run, and that run.
func (y *reconcileRig) shown(s *subject, attribute string) (value, runID string) {
	y.Helper()
	var info *workflowpb.WorkflowExecutionInfo
	wait.Eventually(y, "the workflow is described", func() bool {
		description, err := y.temporal.DescribeWorkflowExecution(y.Context(), s.workflowID, "")
		info = description.GetWorkflowExecutionInfo()
		return err == nil
	})
	if payload := info.SearchAttributes.GetIndexedFields()[attribute]; payload != nil {
		must(y, converter.GetDefaultDataConverter().FromPayload(payload, &value))
	}
	return value, info.Execution.RunId
}

// details returns what the Web UI shows of a subject; empty: a busy server has not answered.
func (y *reconcileRig) details(s *subject) string {
	y.Helper()
	var metadata sdkpb.WorkflowMetadata
	answer, err := y.temporal.QueryWorkflow(y.Context(), s.workflowID, "", "__temporal_workflow_metadata")
	if err != nil || answer.Get(&metadata) != nil {
		return ""
	}
	return metadata.GetCurrentDetails()
}

// firstTaskCompleted is the number of the event with which a workflow's first task completes.
const firstTaskCompleted = 4

// reset resets a subject's workflow to its beginning, without the signals and updates since.
func (y *reconcileRig) reset(s *subject) (runID string) {
	y.Helper()
	_, runID = y.shown(s, "Stage")
	answer, err := y.temporal.ResetWorkflowExecution(y.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: y.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: s.workflowID, RunId: runID},
		Reason: "by hand", WorkflowTaskFinishEventId: firstTaskCompleted, RequestId: s.entity,
		ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{
			enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
		},
	})

	must(y, err)
	return answer.RunId
}

// TestLongReconcileReset resets running workflows of all workloads to their beginning: after at most two sweeps each shows
// what the record has, and the incident is listed.
func TestLongReconcileReset(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	y.startWorker()
	subjects := map[string]*subject{}
	for _, workload := range lifecycle.Names() {
		subjects[workload] = y.make(workload, 0)
		must(t, subjects[workload].start())
	}

	stage := func(s *subject, want string) func() bool {
		return func() bool {
			got, _ := y.shown(s, "Stage")
			return got == want
		}
	}

	aTask := subjects[lifecycle.WorkloadTask]
	var claimed lifecycle.TaskView
	handle, err := y.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: aTask.workflowID, UpdateName: "claim", Args: []any{lifecycle.TaskInput{Actor: y.user.ID, Comment: "c"}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})

	must(t, err)
	must(t, handle.Get(t.Context(), &claimed))
	y.exec(`UPDATE download_jobs SET status = 'downloading', created_at_utc = now() - interval '1 minute'`)
	y.exec(
		`UPDATE jobs SET state = 'STREAMING', claimed_at = now(), heartbeat_at = now(), created_at = now() - interval '1 minute'`,
	)
	y.exec(`UPDATE tasks SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE transactions SET created_at = now() - interval '1 minute'`)
	wait.Eventually(y, "the transaction is worked on", stage(subjects[lifecycle.WorkloadTransaction], "pending"))

	runs := map[string]string{}
	for workload, s := range subjects {
		wait.Eventually(y, workload+" has begun", func() bool {
			description, err := y.temporal.DescribeWorkflowExecution(y.Context(), s.workflowID, "")
			return err == nil && description.WorkflowExecutionInfo.HistoryLength >= firstTaskCompleted
		})
		runs[workload] = y.reset(s)
	}

	wait.Eventually(y, "after the reset the task shows its first status", stage(aTask, "NEW"))
	defer y.run(y.reconciler())()

	for workload, want := range map[string]string{
		lifecycle.WorkloadDelivery: "STREAMING", lifecycle.WorkloadTask: "IN_PROGRESS",
		lifecycle.WorkloadDownload: "downloading", lifecycle.WorkloadTransaction: "pending",
	} {
		s := subjects[workload]
		wait.Eventually(y, workload+" shows "+want, stage(s, want))
		wait.Eventually(y, workload+" has it in its details", func() bool { return strings.Contains(y.details(s), "**"+want+"**") })
		wait.Eventually(y, workload+" is listed", func() bool {
			found, err := y.store.Operations.Findings(t.Context(), operations.FindingFilter{Workload: workload, Limit: 10})
			return err == nil && len(found) == 1 && found[0].Finding == operations.FindingReset && found[0].Done == operations.DoneRefreshed && found[0].RunID == runs[workload]
		})
	}

	if got, _ := y.shown(aTask, "Assignee"); got == "" {
		t.Error("the task shows no assignee")
	}

	// The record is older, as after a restore: the workflow follows it after a comparison.
	defer y.compare(y.reconciler())()
	other := y.make(lifecycle.WorkloadTask, 1)
	must(t, other.start())
	y.exec(
		`UPDATE tasks SET status = 'STUCK', status_deadline_at = NULL, created_at = now() - interval '1 minute' WHERE id::text = $1`,
		other.entity,
	)
	wait.Eventually(y, "the task follows the record", stage(other, "STUCK"))
	y.mu.Lock()
	defer y.mu.Unlock()

	if y.counted["task stale"] != 1 || y.counted["task reset"] != 1 || y.counted["delivery reset"] != 1 {
		t.Errorf("counted: %v", y.counted)
	}
}
