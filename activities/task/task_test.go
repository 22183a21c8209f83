package task

import (
	"context"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// record has one task that is not blocked.
type record struct{ Store }

func (record) TaskByID(context.Context, int64, int64) (task.Task, error) {
	return task.Task{Snapshot: task.Snapshot{Version: 1, State: lifecycle.TaskNew}}, nil
}

// TestKeepsTimerWhereTheWorkflowRuns asks both kinds of activity: an ordinary one may answer a workflow of a worker that
// does not know how to keep a timer.
func TestKeepsTimerWhereTheWorkflowRuns(t *testing.T) {
	t.Parallel()
	acts := &Activities{Store: record{}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(acts)

	var local, ordinary Loaded
	value, err := env.ExecuteLocalActivity(acts.LoadTask, int64(1))
	if err == nil {
		err = value.Get(&local)
	}
	if err != nil || !local.KeepsTimer {
		t.Errorf("local: %+v, %v", local, err)
	}

	value, err = env.ExecuteActivity(acts.LoadTask, int64(1))
	if err == nil {
		err = value.Get(&ordinary)
	}
	if err != nil || ordinary.KeepsTimer {
		t.Errorf("ordinary: %+v, %v", ordinary, err)
	}
}
