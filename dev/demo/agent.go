package demo

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/task"
)

const (
	agentEvery = 200 * time.Millisecond // the pause between two steps of an agent
	agentWork  = 600 * time.Millisecond // how long a task takes it
)

// agent is a simulated member of a workspace: it takes what is ready, one task at a time, and helps with what is STUCK.
type agent struct {
	id, name  string
	api       *client.Client
	workspace string
	sleeps    bool
}

// work goes on until ctx ends. It gives the first error that is not a normal conflict between agents.
func (a *agent) work(ctx context.Context) error {
	for {
		err := a.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !client.Passing(err) && !outrun(err) {
			return err
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(agentEvery):
		}
	}
}

// outrun says whether another agent, or a deadline, was faster.
func outrun(err error) bool {
	var no *client.Refusal
	return errors.As(err, &no) && no.Status == http.StatusConflict
}

// step reads all tasks and does the most urgent thing.
func (a *agent) step(ctx context.Context) error {
	var mine, stuck, ready *shape.Task
	err := client.EachItem(ctx, a.api, "/v1/tasks", url.Values{"workspace_id": {a.workspace}}, func(t shape.Task) bool {
		switch {
		case t.Ended():
		case shape.Value(t.AssigneeID) == a.id:
			mine = &t
		case t.Status == lifecycle.TaskStuck:
			stuck = &t
		case t.Ready:
			ready = &t
		}
		return false
	})

	switch {
	case err != nil:
		return err
	case mine != nil:
		return a.goOn(ctx, mine)
	case stuck != nil:
		return a.act(ctx, stuck, "takeover", "", "nobody seems to work on it")
	case ready != nil:
		return a.act(ctx, ready, "claim", "", "I have time for this")
	default:
		return nil
	}
}

// goOn works on the agent's task. One agent abandons one task: it starts the task and does nothing more until another
// agent has taken it over.
func (a *agent) goOn(ctx context.Context, t *shape.Task) error {
	if a.sleeps && t.Title == sleepersTask && t.Status != lifecycle.TaskNew {
		return nil
	}
	if t.Status != lifecycle.TaskInProgress {
		return a.act(ctx, t, "status", lifecycle.TaskInProgress, "I begin")
	}

	select {
	case <-ctx.Done():
		return nil
	case <-time.After(agentWork):
		return a.act(ctx, t, "status", lifecycle.TaskDone, "it is finished")
	}
}

func (a *agent) act(ctx context.Context, t *shape.Task, action string, to lifecycle.TaskState, comment string) error {
	_, _, err := a.api.Send(ctx, client.Call{
		Method: http.MethodPost, Path: "/v1/tasks/" + t.ID + "/" + action, Body: task.Comment(to, []string{comment}),
	})
	return err
}
