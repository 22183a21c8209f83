package service

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// callerOf is a user to whom the record has shown the task.
func callerOf(user store.User) lifecycle.TaskCaller {
	return lifecycle.TaskCaller{ID: user.ID, Member: true, Admin: user.IsAdmin()}
}

// TaskActions lists what a caller who sees the task may do with it now.
func TaskActions(user store.User, task store.Task) []lifecycle.TaskAction {
	return task.TaskSnapshot.Facts(task.OpenBlockers()).AllowedActions(callerOf(user))
}

// TaskTargets lists the states that a caller who sees the task may give it now.
func TaskTargets(user store.User, task store.Task) []lifecycle.TaskState {
	return task.TaskSnapshot.Facts(task.OpenBlockers()).AllowedTargets(callerOf(user))
}
