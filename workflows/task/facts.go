package task

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

func FactsOf(state store.TaskSnapshot, openBlockers []int64) lifecycle.TaskFacts {
	return lifecycle.TaskFacts{
		State: state.State, CreatorID: state.CreatorID, AssigneeID: state.AssigneeID,
		Public: state.Visibility == store.TaskPublic, OpenBlockers: openBlockers,
	}
}

// callerOf is a user to whom the record has shown the task.
func callerOf(user store.User) lifecycle.TaskCaller {
	return lifecycle.TaskCaller{ID: user.ID, Member: true, Admin: user.IsAdmin()}
}

// Actions lists what a caller who sees the task may do with it now.
func Actions(user store.User, task store.Task) []lifecycle.TaskAction {
	return FactsOf(task.TaskSnapshot, task.OpenBlockers()).AllowedActions(callerOf(user))
}

// Targets lists the states that a caller who sees the task may give it now.
func Targets(user store.User, task store.Task) []lifecycle.TaskState {
	return FactsOf(task.TaskSnapshot, task.OpenBlockers()).AllowedTargets(callerOf(user))
}
