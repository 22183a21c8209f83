package tasks

import (
	"context"
	"strings"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// tried says what something would do to a task or in a workspace that the caller may see.
func (h *handlers) tried(
	ctx context.Context, id string, try func(user account.User, id int64) (service.Trial, error),
) (shape.DryRun, error) {
	trial, err := try(server.Caller(ctx), server.PathID(id))
	if trial.Refusal != nil {
		trial.Refusal = fault.As(explained(trial.Refusal))
	}
	return server.Shown(trial, h.Refusal(ctx, id, err), server.DryRunFrom)
}

// try says what an action on a task would do.
func (h *handlers) try(ctx context.Context, id string, ask lifecycle.TaskAsk) (shape.DryRun, error) {
	return h.tried(ctx, id, func(user account.User, id int64) (service.Trial, error) {
		return h.tasks.Try(ctx, user, id, ask)
	})
}

func (b ActionBody) ask(action lifecycle.TaskAction) lifecycle.TaskAsk {
	return lifecycle.TaskAsk{Action: action, Comment: b.Comment, FencingToken: b.FencingToken}
}

func (h *handlers) trySubmit(ctx context.Context, in *submitTaskInput) (shape.DryRun, error) {
	return h.tried(ctx, in.ID, func(user account.User, id int64) (service.Trial, error) {
		return h.tasks.TrySubmit(ctx, user, id, in.Body.Result, in.Body.ask(lifecycle.TaskActionSubmit))
	})
}

func (h *handlers) tryReview(action lifecycle.TaskAction) func(context.Context, *reviewTaskInput) (shape.DryRun, error) {
	return func(ctx context.Context, in *reviewTaskInput) (shape.DryRun, error) {
		ask := in.Body.ask(action)
		ask.Submission = in.Body.Submission
		return h.try(ctx, in.ID, ask)
	}
}

func (h *handlers) tryEdit(ctx context.Context, in *editTaskInput) (shape.DryRun, error) {
	ask := lifecycle.TaskAsk{
		Action: lifecycle.TaskActionEdit, Comment: in.Body.Comment, FencingToken: in.Body.FencingToken,
	}
	return h.tried(ctx, in.ID, func(user account.User, id int64) (service.Trial, error) {
		return h.tasks.TryEdit(ctx, user, id, in.edit(), ask)
	})
}

func (h *handlers) tryCreate(ctx context.Context, in *createTaskInput) (shape.DryRun, error) {
	wanted, err := newTask(in.Body.NewTask)
	if err != nil {
		return shape.DryRun{}, err
	}

	trial, err := h.tryGraph(ctx, in.Body.WorkspaceID, []task.NewTask{wanted})
	if refusal := fault.As(err); refusal != nil { // the request has no list of tasks
		err = refusal.WithField(strings.TrimPrefix(refusal.Field, task.FieldOf(0, "")))
	}
	return trial, err
}

func (h *handlers) tryCreateAll(ctx context.Context, in *createTasksInput) (shape.DryRun, error) {
	graph, err := h.graphOf(ctx, in.Body.Tasks)
	if err != nil {
		return shape.DryRun{}, err
	}
	return h.tryGraph(ctx, in.Body.WorkspaceID, graph)
}

func (h *handlers) tryGraph(ctx context.Context, workspace string, graph []task.NewTask) (shape.DryRun, error) {
	return h.tried(ctx, workspace, func(user account.User, id int64) (service.Trial, error) {
		return h.tasks.TryCreate(ctx, user, id, graph)
	})
}
