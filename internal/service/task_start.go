package service

import (
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/temporalio"
)

// TaskTransition is what the record is to have after a step.
func TaskTransition(taskID int64, state store.TaskSnapshot, step lifecycle.TaskRule, ask lifecycle.TaskAsk, requestID string, at time.Time) store.TaskWrite {
	event := store.Event{Type: step.Event, From: string(state.State), To: string(step.To), Comment: ask.Comment}
	if !ask.Caller.System {
		event.ActorID = &ask.Caller.ID
	}
	return store.TaskWrite{
		TaskID: taskID, Version: state.Version + 1, RequestID: requestID, Action: step.Action, State: step.To,
		AssigneeID: state.Facts(nil).AssigneeAfter(step, ask.Caller.ID), At: at.UTC(), Event: event,
	}
}

// SystemRequestID names a request of the program's own: the same for the same version, whoever repeats it.
func SystemRequestID[A ~string](action A, version int64) string {
	return fmt.Sprintf("system-%s-%d", action, version)
}

// taskAttributes are the search attributes that a task's workflow starts with.
func taskAttributes(task store.Task) temporal.SearchAttributes {
	updates := []temporal.SearchAttributeUpdate{
		temporalio.StageAttribute.ValueSet(string(task.State)),
		temporalio.OwnerAttribute.ValueSet(strconv.FormatInt(task.CreatorID, 10)),
		temporalio.WorkspaceAttribute.ValueSet(strconv.FormatInt(task.WorkspaceID, 10)),
	}
	if task.AssigneeID != nil {
		updates = append(updates, temporalio.AssigneeAttribute.ValueSet(strconv.FormatInt(*task.AssigneeID, 10)))
	}
	if task.DeadlineAt != nil {
		updates = append(updates, temporalio.DeadlineAttribute.ValueSet(*task.DeadlineAt))
	}
	return temporal.NewSearchAttributes(updates...)
}
