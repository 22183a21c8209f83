package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// execution is a workflow as Temporal describes it.
type execution struct {
	status enumspb.WorkflowExecutionStatus // UNSPECIFIED: Temporal does not know it
	runID  string
	stage  string // as its search attribute shows it
	since  time.Time
	reset  bool
	busy   bool // a worker is about to continue it
	long   bool // the server has ended it: its history was too long
}

// alive reports whether the workflow runs.
func (e execution) alive() bool {
	return e.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || e.status == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
}

// finding names what is wrong with a live row whose workflow is in this condition.
func (e execution) finding() string {
	switch e.status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return operations.FindingMissing
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		if e.long {
			return operations.FindingTooLong
		}
		return operations.FindingTerminated
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return operations.FindingTimedOut
	default:
		return operations.FindingEnded
	}
}

// view is what a sweep has seen of the workflows of one workload.
type view struct {
	service.Workload
	running  map[string]execution // by workflow id; those with a live row are taken out as the sweep meets them
	reset    map[string]bool      // a run of theirs was terminated recently
	suspects map[string]string    // what differs now, for the next sweep
}

// view lists all running workflows of a workload, and which of them may have been reset.
func (s *sweeper) view(ctx context.Context, w service.Workload) (*view, error) {
	v := &view{Workload: w, running: map[string]execution{}, reset: map[string]bool{}, suspects: map[string]string{}}
	err := eachWorkflow(ctx, s.Temporal, running(w.WorkflowType()), func(info *workflowpb.WorkflowExecutionInfo) error {
		v.running[info.Execution.WorkflowId] = execution{
			status: info.Status, runID: info.Execution.RunId, since: info.GetStartTime().AsTime(),
			stage: stageOf(info.SearchAttributes),
		}
		temporalio.Progressed(ctx)
		return nil
	})
	if err != nil {
		return nil, err
	}

	s.sweep.Running[w.Name()] = len(v.running)
	// A reset terminates the run that it replaces.
	terminated := fmt.Sprintf(
		`WorkflowType = %q AND ExecutionStatus = "Terminated" AND CloseTime > %q`,
		w.WorkflowType(), s.resets.UTC().Format(time.RFC3339),
	)

	err = eachWorkflow(ctx, s.Temporal, terminated, func(info *workflowpb.WorkflowExecutionInfo) error {
		if _, runs := v.running[info.Execution.WorkflowId]; runs {
			v.reset[info.Execution.WorkflowId] = true
		}
		temporalio.Progressed(ctx)
		return nil
	})

	return v, err
}

// eachWorkflow calls do for the workflows that a query of visibility finds, a page a request. The first error of do
// ends it.
func eachWorkflow(
	ctx context.Context, temporal client.Client, query string, do func(*workflowpb.WorkflowExecutionInfo) error,
) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: pageLimit}
	for {
		page, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}

		for _, info := range page.Executions {
			if err := do(info); err != nil {
				return err
			}
		}

		if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
			return nil
		}
	}
}

// running returns the query for the running workflows of a type.
func running(workflowType string) string {
	return `WorkflowType = "` + workflowType + `" AND ExecutionStatus = "Running"`
}

// stageOf reads the state that a workflow shows; empty: it shows none.
func stageOf(attributes *commonpb.SearchAttributes) (stage string) {
	if payload := attributes.GetIndexedFields()[temporalio.StageAttribute.GetName()]; payload != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(payload, &stage) // an unreadable value counts as none
	}
	return stage
}

// describe describes the newest run of a workflow, because the list lags.
func (s *sweeper) describe(ctx context.Context, id string) (execution, error) {
	temporalio.Progressed(ctx)
	description, err := s.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if temporalio.IsNotFound(err) {
		return execution{}, nil
	}
	if err != nil {
		return execution{}, err
	}

	info := description.WorkflowExecutionInfo
	e := execution{
		status: info.Status, runID: info.Execution.RunId, since: info.GetStartTime().AsTime(),
		stage: stageOf(info.SearchAttributes),
		reset: description.WorkflowExtendedInfo.GetLastResetTime() != nil, busy: description.PendingWorkflowTask != nil,
	}
	if e.status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		e.long, err = s.endedForLength(ctx, id, e.runID)
	}

	return e, err
}

// serverIdentity terminates a run whose history has too many events or bytes, with one of these reasons: "Workflow
// history count exceeds limit.", "Workflow history size exceeds limit.", "Workflow mutable state size exceeds limit.".
const (
	serverIdentity = "history-service"
	exceedsLimit   = "exceeds limit"
)

// endedForLength reports whether the server has ended a run for its length: then the row should continue.
func (s *sweeper) endedForLength(ctx context.Context, id, runID string) (bool, error) {
	history := s.Temporal.GetWorkflowHistory(ctx, id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return false, err
		}
		end := event.GetWorkflowExecutionTerminatedEventAttributes()
		if end.GetIdentity() == serverIdentity && strings.Contains(end.GetReason(), exceedsLimit) {
			return true, nil
		}
	}

	return false, nil
}

// meet takes a live row's workflow out of the view, and reports whether the list has it running.
func (v *view) meet(workflowID string) (e execution, runs bool) {
	e, runs = v.running[workflowID]
	delete(v.running, workflowID)
	return e, runs
}

// orphans terminates the running workflows that are left in the view when all live rows are met, because the record has
// no live row for them. Young workflows, and those that are about to end, are left alone.
func (s *sweeper) orphans(ctx context.Context, v *view) error {
	s.suspects[v.Name()] = v.suspects
	var keys []string
	for id, e := range v.running {
		if key, ours := strings.CutPrefix(id, v.Name()+"/"); ours && time.Since(e.since) > s.grace {
			keys = append(keys, key)
		}
	}

	for len(keys) > 0 {
		page := keys[:min(len(keys), pageLimit)]
		keys = keys[len(page):]
		driven, err := v.Driven(ctx, page)
		if err != nil {
			return err
		}

		for _, key := range page {
			row, known := driven.Rows[key]
			if !driven.Possible[key] || known && (!row.Over || row.Changed < s.grace) {
				continue
			}
			if err := s.orphan(ctx, v.Name(), key, row); err != nil {
				s.Log.Warn("workflow not reconciled", "workload", v.Name(), "workflow", key, "error", err)
			}
		}

		temporalio.Progressed(ctx)
	}

	return nil
}

func (s *sweeper) orphan(ctx context.Context, workload, key string, row core.DrivenRow) error {
	f := operations.Finding{
		Workload: workload, Entity: row.Entity, WorkflowID: workload + "/" + key, Finding: operations.FindingOver,
	}

	reason := "reconciler: the record has the end of this " + workload
	if row.Entity == "" {
		f.Entity, f.Finding, reason = key, operations.FindingNoRow, "reconciler: the record knows no such "+workload
	}

	now, err := s.describe(ctx, f.WorkflowID)
	if err != nil || !now.alive() || time.Since(now.since) < s.grace {
		return err
	}

	f.RunID = now.runID
	return s.repair(ctx, f, func(ctx context.Context) (string, error) {
		err := s.Temporal.TerminateWorkflow(ctx, f.WorkflowID, f.RunID, reason)
		if temporalio.IsNotFound(err) {
			err = nil
		}
		return operations.DoneTerminated, err
	})
}
