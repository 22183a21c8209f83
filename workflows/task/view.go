package task

import (
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

func (t *run) view() lifecycle.TaskView {
	return lifecycle.TaskView{
		StateView: lifecycle.StateView{State: string(t.state.State), Since: t.state.Since, WaitsFor: t.state.WaitsFor()},
		Version:   t.state.Version, AssigneeID: t.state.AssigneeID, DeadlineAt: t.state.DeadlineAt,
		ReleaseAt:    t.state.ReleaseAt,
		FencingToken: t.state.FencingToken, LeaseExpiresAt: t.state.LeaseExpiresAt,
		StartedAt: t.state.StartedAt, FinishedAt: t.state.FinishedAt, ClockWaits: t.state.ClockWaits,
	}
}

// waits explains each value of waits_for.
var waits = map[string]string{
	lifecycle.WaitsForBlockers: "tasks that have to be DONE before it",
	lifecycle.WaitsForClaim:    "an agent who claims it",
	lifecycle.WaitsForAssignee: "its assignee",
	lifecycle.WaitsForReview:   "somebody who approves or rejects its result",
	lifecycle.WaitsForTakeover: "an agent who takes it over",
}

// show updates what operators see of a new state: one event for the attributes, none for the details.
func (t *run) show(ctx workflow.Context) {
	t.describe(ctx)
	now := record.Shown{
		Stage: string(t.state.State), WaitsFor: t.state.WaitsFor(), Attention: t.state.State == lifecycle.TaskStuck,
		DeadlineAt: t.state.DeadlineAt,
	}

	assignee := ""
	if t.state.AssigneeID != nil {
		assignee = strconv.FormatInt(*t.state.AssigneeID, 10)
	}
	now.Others = record.AppendKeyword(ctx, nil, temporalio.AssigneeAttribute, assignee)
	now.Others = record.AppendTime(ctx, now.Others, temporalio.DeadlineAttribute, t.state.DeadlineAt) // also changes alone
	record.Show(ctx, now)
}

// describe updates the current details in the Web UI.
func (t *run) describe(ctx workflow.Context) {
	workspace, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(temporalio.WorkspaceAttribute)
	paragraphs := []string{
		fmt.Sprintf("**%s** since %s", t.state.State, t.state.Since.UTC().Format(time.RFC3339)),
		record.WaitsFor(t.state.WaitsFor(), waits[t.state.WaitsFor()]),
	}

	if t.state.DeadlineAt != nil {
		paragraphs = append(paragraphs, "Deadline: "+t.state.DeadlineAt.UTC().Format(time.RFC3339)+".")
	}

	if t.state.LeaseExpiresAt != nil {
		paragraphs = append(
			paragraphs, "Lease: until "+t.state.LeaseExpiresAt.UTC().Format(time.RFC3339)+", unless its holder has renewed it.",
		)
	}

	if t.state.ReleaseAt != nil {
		paragraphs = append(paragraphs, "Released: "+t.state.ReleaseAt.UTC().Format(time.RFC3339)+".")
	}

	record.ShowDetails(ctx, lifecycle.TaskTitle(t.id, workspace), paragraphs...)
}
