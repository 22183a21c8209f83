package task

import (
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// View is what the state query and the updates answer.
type View struct {
	lifecycle.StateView
	Version    int64      `json:"version"`
	AssigneeID *int64     `json:"assignee_id,omitempty"`
	DeadlineAt *time.Time `json:"status_deadline_at,omitempty"`
	ReleaseAt  *time.Time `json:"release_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	ClockWaits bool       `json:"clock_waits,omitempty"` // the deadline begins with the last blocker's end
}

func (t *task) view() View {
	return View{
		StateView: lifecycle.StateView{State: string(t.state.Status), Since: t.state.Since, WaitsFor: t.waitsFor()},
		Version:   t.state.Version, AssigneeID: t.state.AssigneeID, DeadlineAt: t.state.DeadlineAt, ReleaseAt: t.state.ReleaseAt,
		StartedAt: t.state.StartedAt, FinishedAt: t.state.FinishedAt, ClockWaits: t.state.ClockWaits,
	}
}

func (t *task) waitsFor() string {
	switch {
	case t.state.ClockWaits:
		return "its blockers"
	case t.state.Status == store.TaskNew && t.state.AssigneeID == nil:
		return "an agent who claims it"
	case t.state.Status == store.TaskNew, t.state.Status == store.TaskInProgress, t.state.Status == store.TaskBlocked:
		return "its assignee"
	case t.state.Status == store.TaskStuck:
		return "an agent who takes it over"
	default:
		return ""
	}
}

// show tells operators of a new state: one event for the attributes, none for the details.
func (t *task) show(ctx workflow.Context) {
	t.describe(ctx)
	assignee, deadline := lifecycle.AssigneeAttribute.ValueUnset(), lifecycle.DeadlineAttribute.ValueUnset()
	attention := lifecycle.AttentionAttribute.ValueUnset()
	if t.state.AssigneeID != nil {
		assignee = lifecycle.AssigneeAttribute.ValueSet(strconv.FormatInt(*t.state.AssigneeID, 10))
	}
	if t.state.DeadlineAt != nil {
		deadline = lifecycle.DeadlineAttribute.ValueSet(*t.state.DeadlineAt)
	}
	if t.state.Status == store.TaskStuck {
		attention = lifecycle.AttentionAttribute.ValueSet(true)
	}
	// An attribute that cannot be set must not stop a task.
	_ = workflow.UpsertTypedSearchAttributes(ctx, lifecycle.StageAttribute.ValueSet(string(t.state.Status)), assignee, deadline, attention)
}

// describe keeps the Web UI's current details.
func (t *task) describe(ctx workflow.Context) {
	workspace, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(lifecycle.WorkspaceAttribute)
	paragraphs := []string{
		fmt.Sprintf("**%s** since %s", t.state.Status, t.state.Since.UTC().Format(time.RFC3339)), lifecycle.WaitsFor(t.waitsFor()),
	}
	if t.state.DeadlineAt != nil {
		paragraphs = append(paragraphs, "Deadline: "+t.state.DeadlineAt.UTC().Format(time.RFC3339)+".")
	}
	if t.state.ReleaseAt != nil {
		paragraphs = append(paragraphs, "Released: "+t.state.ReleaseAt.UTC().Format(time.RFC3339)+".")
	}
	lifecycle.ShowDetails(ctx, title(t.id, workspace), paragraphs...)
}

// title names a task's workflow for operators.
func title(taskID int64, workspace string) string {
	if workspace == "" { // an operator has started it without search attributes
		return fmt.Sprintf("Task %d", taskID)
	}
	return fmt.Sprintf("Task %d of workspace %s", taskID, workspace)
}

// attributesOf are the search attributes that a task's workflow starts with.
func attributesOf(task store.Task) temporal.SearchAttributes {
	updates := []temporal.SearchAttributeUpdate{
		lifecycle.StageAttribute.ValueSet(string(task.Status)),
		lifecycle.OwnerAttribute.ValueSet(strconv.FormatInt(task.CreatorID, 10)),
		lifecycle.WorkspaceAttribute.ValueSet(strconv.FormatInt(task.WorkspaceID, 10)),
	}
	if task.AssigneeID != nil {
		updates = append(updates, lifecycle.AssigneeAttribute.ValueSet(strconv.FormatInt(*task.AssigneeID, 10)))
	}
	if task.DeadlineAt != nil {
		updates = append(updates, lifecycle.DeadlineAttribute.ValueSet(*task.DeadlineAt))
	}
	return temporal.NewSearchAttributes(updates...)
}
