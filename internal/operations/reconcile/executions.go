package reconcile

import (
	"context"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/time/rate"

	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// execution is a workflow as described by Temporal.
type execution struct {
	status enumspb.WorkflowExecutionStatus // UNSPECIFIED: unknown to Temporal
	runID  string
	open   bool   // it has not ended: it runs, or an operator has paused it
	stage  string // as shown by its search attribute
	since  time.Time
	reset  bool
	busy   bool // a worker is about to continue it
	long   bool // the server ended it because its history was too long
}

// alive reports whether the workflow is open, or about to be.
func (e execution) alive() bool {
	return e.open || e.status == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
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

// eachPage calls do for the workflows found by a visibility query, a page per request.
func (s *sweeper) eachPage(ctx context.Context, query string, do func([]*workflowpb.WorkflowExecutionInfo) error) error {
	return eachPage(ctx, s.Temporal, s.Lists, query, do)
}

// eachPage calls do for the workflows found by a visibility query, a page per request, as fast as limit allows; nil: no
// limit. do's first error ends it.
func eachPage(
	ctx context.Context, temporal client.Client, limit *rate.Limiter, query string,
	do func([]*workflowpb.WorkflowExecutionInfo) error,
) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: pageLimit}
	for {
		if limit != nil {
			if err := limit.Wait(ctx); err != nil {
				return err
			}
		}

		page, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}

		temporalio.Progressed(ctx)
		if err := do(page.Executions); err != nil {
			return err
		}
		if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
			return nil
		}
	}
}

// eachWorkflow calls do for the workflows found by a visibility query. do's first error ends it.
func eachWorkflow(
	ctx context.Context, temporal client.Client, limit *rate.Limiter, query string,
	do func(*workflowpb.WorkflowExecutionInfo) error,
) error {
	return eachPage(ctx, temporal, limit, query, func(page []*workflowpb.WorkflowExecutionInfo) error {
		for _, info := range page {
			if err := do(info); err != nil {
				return err
			}
		}
		return nil
	})
}

// open returns the query for the open workflows of a type. One paused by an operator is open, but not in the list of
// running ones.
func open(workflowType string) string {
	return `WorkflowType = "` + workflowType + `" AND ExecutionStatus NOT IN (` + closedStatuses + `, "ContinuedAsNew")`
}

// stageOf reads the state shown by a workflow; empty: none.
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
		status: info.Status, open: info.CloseTime == nil, runID: info.Execution.RunId, since: info.GetStartTime().AsTime(),
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

// endedForLength reports whether the server ended a run because of its length: the row should then continue.
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
