package tasks

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// TestTaskActions checks the actions that a caller is offered.
func TestTaskActions(t *testing.T) {
	t.Parallel()
	const creatorID, assigneeID, memberID = 1, 2, 3
	holder := int64(assigneeID)
	held := task.Task{Snapshot: task.Snapshot{
		State: lifecycle.TaskInProgress, CreatorID: creatorID, AssigneeID: &holder, Visibility: "public",
	}}

	free := task.Task{Snapshot: task.Snapshot{
		State: lifecycle.TaskNew, CreatorID: creatorID, Visibility: "public",
	}}

	given := free
	given.AssigneeID = &holder
	waiting := free
	waiting.Blockers = []task.Blocker{{ID: 7, Status: lifecycle.TaskCancelled}}

	for name, c := range map[string]struct {
		user    int64
		task    task.Task
		actions string
		targets string
	}{
		"the assignee":         {assigneeID, held, "[status submit]", "[DONE BLOCKED NEW CANCELLED]"},
		"the creator":          {creatorID, held, "[escalate status edit]", "[CANCELLED]"},
		"a member":             {memberID, held, "[escalate]", "[]"},
		"a member, free task":  {memberID, free, "[claim]", "[]"},
		"a member, waiting":    {memberID, waiting, "[]", "[]"},
		"the assignee, new":    {assigneeID, given, "[claim status]", "[IN_PROGRESS]"},
		"a member, given":      {memberID, given, "[]", "[]"},
		"the creator, waiting": {creatorID, waiting, "[status edit]", "[CANCELLED]"},
	} {
		user := account.User{ID: c.user}
		if actions, targets := fmt.Sprint(Actions(user, c.task)), fmt.Sprint(Targets(user, c.task)); actions != c.actions || targets != c.targets {
			t.Errorf("%s: %s %s, want %s %s", name, actions, targets, c.actions, c.targets)
		}
	}

	if free.Ready() != true || waiting.Ready() != false || held.Ready() != false {
		t.Error("ready is not what can be claimed now")
	}
}
