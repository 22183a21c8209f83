package tasks

import (
	"context"
	"maps"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

const (
	tasksCursor      = "tasks"
	taskEventsCursor = "task events"
)

type createTaskInput struct {
	server.Keyed
	server.Tried
	Body shape.TaskRequest
}

type createTasksInput struct {
	server.Keyed
	server.Tried
	Body struct {
		WorkspaceID string         `json:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
		Tasks       []batchRequest `json:"tasks" minItems:"1" maxItems:"500"`
	} `nameHint:"TaskBatchRequest"`
}

// batchRequest is one task of a graph. Its blocked_by may name the refs of others.
type batchRequest struct {
	Ref string `json:"ref,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"notes" doc:"How blocked_by of other tasks of this batch names it"`
	shape.NewTask
}

type listTasksInput struct {
	server.Paging
	WorkspaceID string `query:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" doc:"Only those of this workspace"`
	Status      string `query:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"Only those in this status"`
	Assignee    string `query:"assignee" pattern:"^(me|[1-9][0-9]{0,18})$" patternDescription:"the id of a user, or me" doc:"Only those of this user, or your own"`
	Ready       bool   `query:"ready" doc:"Only those that can be claimed now"`
}

type taskInput struct {
	ID string `path:"id" example:"12" doc:"The id of a task"`
}

type taskEventsInput struct {
	server.Paging
	ID string `path:"id" example:"12" doc:"The id of a task"`
}

// handlers answer the operations of tasks and workspaces.
type handlers struct {
	*server.Server
	tasks *service.Tasks
}

// Register adds the operations of tasks and workspaces to an API.
func Register(s *server.Server, tasks *service.Tasks) {
	h := &handlers{Server: s, tasks: tasks}
	maps.Copy(s.Kinds, kinds)
	s.Hide(fault.TaskNotFound, func(ctx context.Context, id int64) error {
		_, err := s.Store.Tasks.ByID(ctx, 0, id)
		return err
	})
	s.Hide(fault.WorkspaceNotFound, func(ctx context.Context, id int64) error {
		_, err := s.Store.Tasks.WorkspaceByID(ctx, 0, id)
		return err
	})

	group := server.Group{Server: s, Tag: "Tasks", Access: server.ForUsers, Scope: lifecycle.TaskScope, Subject: "task"}
	h.registerTasks(group)
	h.registerActions(group)
	h.registerReview(group)
	h.registerNext(group)
	h.registerViews(group)
	h.registerWorkspaces()
}

// registerTasks adds the operations that make tasks and show them.
func (h *handlers) registerTasks(tasks server.Group) {
	server.RegisterTried(tasks, server.Operation{
		Id: "create-task", Route: "POST /v1/tasks", Subject: "workspace", Status: http.StatusCreated, Body: server.TextBody,
		Summary: "Make a task",
		Faults:  []fault.Code{fault.WorkspaceNotFound, fault.UnknownBlocker, fault.QuotaExceeded},
	}, h.createTask, h.tryCreate)

	server.RegisterTried(tasks, server.Operation{
		Id: "create-tasks", Route: "POST /v1/tasks/batch", Subject: "workspace", Status: http.StatusCreated, Body: server.MaxBody,
		Summary: "Make a whole graph of tasks, all or none",
		Description: "A task's `blocked_by` names others of the batch by their `ref`, or existing tasks by their ids; all tasks together have at most 5,000 blockers. " +
			"Against the rate of requests a batch, made or tried, counts once, and once more for each 25 tasks and each 250 blockers.",
		Faults: []fault.Code{
			fault.WorkspaceNotFound, fault.UnknownBlocker, fault.CyclicDependency, fault.QuotaExceeded,
		},
	}, h.createTasks, h.tryCreateAll)

	server.Register(tasks, server.Operation{
		Id: "list-tasks", Route: "GET /v1/tasks", Scope: account.ScopeRead,
		Summary: "List the tasks that you may see, the newest first",
	}, h.listTasks)

	server.Register(tasks, server.Operation{
		Id: "get-task", Route: "GET /v1/tasks/{id}", Scope: account.ScopeRead,
		Summary: "Get a task", Faults: []fault.Code{fault.TaskNotFound},
	}, h.getTask)

	server.Register(tasks, server.Operation{
		Id: "list-task-actions", Route: "GET /v1/tasks/{id}/actions", Scope: account.ScopeRead,
		Summary:     "List what can be done to a task, and for each action whether you may do it now, or why not",
		Description: "The reasons are those by which a request would be refused. Everybody who sees the task may also comment on it.",
		Faults:      []fault.Code{fault.TaskNotFound},
	}, h.listTaskActions)

	server.Register(tasks, server.Operation{
		Id: "list-task-events", Route: "GET /v1/tasks/{id}/events", Scope: account.ScopeRead,
		Summary: "What happened to a task, and what was said about it, from the beginning",
		Faults:  []fault.Code{fault.TaskNotFound},
	}, h.listTaskEvents)

	server.Register(tasks, server.Operation{
		Id: "get-task-stats", Route: "GET /v1/stats/tasks", Scope: account.ScopeRead, Subject: "workspace",
		Summary: "Get the statistics of a workspace's tasks", Faults: []fault.Code{fault.WorkspaceNotFound},
	}, h.getTaskStats)
}

func (h *handlers) createTask(ctx context.Context, in *createTaskInput) (none shape.Task, err error) {
	workspace := server.PathID(in.Body.WorkspaceID)
	wanted, err := newTask(in.Body.NewTask)
	if err != nil {
		return none, err
	}

	made, err := h.tasks.Create(ctx, server.Caller(ctx), workspace, wanted, in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.Body.WorkspaceID, err)
	}

	h.auditGuest(ctx, workspace)
	return taskFor(server.Caller(ctx))(made), nil
}

func (h *handlers) createTasks(ctx context.Context, in *createTasksInput) (none shape.TaskBatch, err error) {
	workspace := server.PathID(in.Body.WorkspaceID)
	graph, err := h.graphOf(ctx, in.Body.Tasks)
	if err != nil {
		return none, err
	}

	made, err := h.tasks.CreateBatch(ctx, server.Caller(ctx), workspace, graph, in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.Body.WorkspaceID, err)
	}

	h.auditGuest(ctx, workspace)
	body := shape.TaskBatch{Items: make([]shape.BatchTask, len(made))}
	for i, task := range made {
		body.Items[i] = shape.BatchTask{Ref: graph[i].Ref, Task: taskFor(server.Caller(ctx))(task)}
	}
	return body, nil
}

// A graph counts as one request, and as another for each so many of its tasks and of their blockers.
const (
	tasksOfARequest = 25
	edgesOfARequest = 250
)

// graphOf reads the tasks that are asked for, and counts them against the rate of the caller.
func (h *handlers) graphOf(ctx context.Context, asked []batchRequest) (graph []task.NewTask, err error) {
	edges := 0
	for _, wanted := range asked {
		edges += len(wanted.BlockedBy)
	}
	if err := h.TakeMore(ctx, len(asked)/tasksOfARequest+edges/edgesOfARequest); err != nil {
		return nil, err
	}

	graph = make([]task.NewTask, len(asked))
	for i, wanted := range asked {
		if graph[i], err = newTask(wanted.NewTask); err != nil {
			return nil, fault.As(err).WithField(task.FieldOf(i, fault.As(err).Field))
		}
		graph[i].Ref = wanted.Ref
	}
	return graph, nil
}

func (h *handlers) listTasks(ctx context.Context, in *listTasksInput) (none shape.Page[shape.Task], err error) {
	user := server.Caller(ctx)
	filter := task.Filter{Status: lifecycle.TaskState(in.Status), Ready: in.Ready}
	if filter.WorkspaceID, err = server.OptionalID(in.WorkspaceID, "workspace_id"); err != nil {
		return none, err
	}

	if in.Assignee == "me" {
		filter.AssigneeID = user.ID
	} else if filter.AssigneeID, err = server.OptionalID(in.Assignee, "assignee"); err != nil {
		return none, err
	}
	return server.ListOf(in.Paging, tasksCursor, func(before int64, limit int) ([]task.Task, error) {
		filter.Before, filter.Limit = before, limit
		return h.tasks.List(ctx, user, filter)
	}, func(t task.Task) int64 { return t.ID }, taskFor(user))
}

func (h *handlers) getTask(ctx context.Context, in *taskInput) (shape.Task, error) {
	task, err := h.tasks.Find(ctx, server.Caller(ctx), server.PathID(in.ID))
	return server.Shown(task, h.Refusal(ctx, in.ID, err), taskFor(server.Caller(ctx)))
}

func (h *handlers) listTaskActions(ctx context.Context, in *taskInput) (shape.TaskOptions, error) {
	task, err := h.tasks.Find(ctx, server.Caller(ctx), server.PathID(in.ID))
	return server.Shown(task, h.Refusal(ctx, in.ID, err), optionsFor(server.Caller(ctx)))
}

func (h *handlers) listTaskEvents(ctx context.Context, in *taskEventsInput) (shape.Page[shape.History], error) {
	id := server.PathID(in.ID)
	return server.ListOf(in.Paging, taskEventsCursor, func(after int64, limit int) ([]core.StreamedEvent, error) {
		events, err := h.tasks.Events(ctx, server.Caller(ctx), id, after, limit)
		return events, h.Refusal(ctx, in.ID, err)
	}, func(e core.StreamedEvent) int64 { return e.Seq }, server.HistoryFrom)
}
