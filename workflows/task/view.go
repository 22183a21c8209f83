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
		StateView: lifecycle.StateView{State: string(t.state.State), Since: t.state.Since, WaitsFor: t.waitsFor()},
		Version:   t.state.Version, AssigneeID: t.state.AssigneeID, DeadlineAt: t.state.DeadlineAt,
		ReleaseAt:    t.state.ReleaseAt,
		FencingToken: t.state.FencingToken, LeaseExpiresAt: t.state.LeaseExpiresAt,
		StartedAt: t.state.StartedAt, FinishedAt: t.state.FinishedAt, ClockWaits: t.state.ClockWaits,
	}
}

func (t *run) waitsFor() string {
	switch {
	case t.state.ClockWaits:
		return "its blockers"
	case t.state.State == lifecycle.TaskNew && t.state.AssigneeID == nil:
		return "an agent who claims it"
	case t.state.State == lifecycle.TaskNew, t.state.State == lifecycle.TaskInProgress,
		t.state.State == lifecycle.TaskBlocked:
		return "its assignee"
	case t.state.State == lifecycle.TaskStuck:
		return "an agent who takes it over"
	default:
		return ""
	}
}

// show updates what operators see of a new state: one event for the attributes, none for the details.
func (t *run) show(ctx workflow.Context) {
	t.describe(ctx)
	assignee, deadline := temporalio.AssigneeAttribute.ValueUnset(), temporalio.DeadlineAttribute.ValueUnset()
	attention := temporalio.AttentionAttribute.ValueUnset()
	if t.state.AssigneeID != nil {
		assignee = temporalio.AssigneeAttribute.ValueSet(strconv.FormatInt(*t.state.AssigneeID, 10))
	}

	if t.state.DeadlineAt != nil {
		deadline = temporalio.DeadlineAttribute.ValueSet(*t.state.DeadlineAt)
	}

	if t.state.State == lifecycle.TaskStuck {
		attention = temporalio.AttentionAttribute.ValueSet(true)
	}

	// An attribute that cannot be set must not stop a task.
	_ = workflow.UpsertTypedSearchAttributes(
		ctx, temporalio.StageAttribute.ValueSet(string(t.state.State)), assignee, deadline, attention,
	)
}

// describe updates the current details in the Web UI.
func (t *run) describe(ctx workflow.Context) {
	workspace, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(temporalio.WorkspaceAttribute)
	paragraphs := []string{
		fmt.Sprintf("**%s** since %s", t.state.State, t.state.Since.UTC().Format(time.RFC3339)),
		record.WaitsFor(t.waitsFor()),
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
