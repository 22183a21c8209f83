package tasks

import (
	"context"
	"maps"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

const (
	tasksCursor        = "tasks"
	taskEventsCursor   = "task events"
	newestEventsCursor = "newest task events"
)

type createTaskInput struct {
	server.Keyed
	Body shape.TaskRequest
}

type createTasksInput struct {
	server.Keyed
	Body struct {
		WorkspaceID string         `json:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
		Tasks       []batchRequest `json:"tasks" minItems:"1" maxItems:"500"`
	} `nameHint:"TaskBatchRequest"`
}

// batchRequest is one task of a graph. Its blocked_by may name the refs of others.
type batchRequest struct {
	Ref string `json:"ref,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"notes" doc:"Name by which other tasks of this batch refer to it in blocked_by"`
	shape.NewTask
}

type listTasksInput struct {
	server.Paging
	WorkspaceID string `query:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" doc:"Only tasks of this workspace"`
	Status      string `query:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"Only tasks in this status"`
	Assignee    string `query:"assignee" pattern:"^(me|[1-9][0-9]{0,18})$" patternDescription:"the id of a user, or me" doc:"Only tasks assigned to this user; me: to you"`
	Ready       bool   `query:"ready" doc:"Only tasks that can be claimed now"`
	Q           string `query:"q" maxLength:"500" example:"notes" doc:"Only tasks whose title and description together contain these words or parts of words, in any order; searches the newest 1,000 that match the other filters, or the 1,000 below the cursor"`
}

type taskInput struct {
	ID string `path:"id" example:"12" doc:"Task ID"`
}

type taskEventsInput struct {
	server.Paging
	ID    string `path:"id" example:"12" doc:"Task ID"`
	Order string `query:"order" enum:"oldest,newest" default:"oldest" doc:"Which tasks come first"`
}

type taskPagesInput struct {
	server.Paging
	ID string `path:"id" example:"12" doc:"Task ID"`
}

// handlers implement the operations on tasks and workspaces.
type handlers struct {
	*server.Server
	tasks *tasks.Service
}

// Register adds the operations on tasks and workspaces to an API.
func Register(s *server.Server, tasks *tasks.Service) {
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

// registerTasks adds the operations that create and show tasks.
func (h *handlers) registerTasks(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "create-task", Route: "POST /v1/tasks", Subject: "workspace", Status: http.StatusCreated, Body: server.TextBody,
		Summary: "Create a task",
		Faults:  []fault.Code{fault.WorkspaceNotFound, fault.UnknownBlocker, fault.QuotaExceeded},
	}, h.createTask)

	server.Register(tasks, server.Operation{
		Id: "create-tasks", Route: "POST /v1/tasks/batch", Subject: "workspace", Status: http.StatusCreated, Body: server.MaxBody,
		Summary: "Create a graph of tasks, all or none",
		Description: "A task's `blocked_by` refers to others of the batch by `ref`, and to existing tasks by ID; a batch has at most 5,000 blockers in total. " +
			"For the rate limit a batch, successful or not, counts as one request plus one for every 25 tasks and one for every 250 blockers.",
		Faults: []fault.Code{
			fault.WorkspaceNotFound, fault.UnknownBlocker, fault.CyclicDependency, fault.QuotaExceeded,
		},
	}, h.createTasks)

	server.Register(tasks, server.Operation{
		Id: "list-tasks", Route: "GET /v1/tasks", Scope: account.ScopeRead,
		Summary: "List tasks visible to you, newest first",
	}, h.listTasks)

	server.Register(tasks, server.Operation{
		Id: "get-task", Route: "GET /v1/tasks/{id}", Scope: account.ScopeRead,
		Summary: "Get a task", Faults: []fault.Code{fault.TaskNotFound},
	}, h.getTask)

	server.Register(tasks, server.Operation{
		Id: "list-task-actions", Route: "GET /v1/tasks/{id}/actions", Scope: account.ScopeRead,
		Summary:     "List the actions on a task and, for each, whether you may take it now or why not",
		Description: "The reasons are those for which a request would be refused. Everyone who can see the task may also comment on it.",
		Faults:      []fault.Code{fault.TaskNotFound},
	}, h.listTaskActions)

	server.Register(tasks, server.Operation{
		Id: "list-task-events", Route: "GET /v1/tasks/{id}/events", Scope: account.ScopeRead,
		Summary: "List the events and comments of a task, oldest first",
		Faults:  []fault.Code{fault.TaskNotFound},
	}, h.listTaskEvents)

	server.Register(tasks, server.Operation{
		Id: "get-task-stats", Route: "GET /v1/stats/tasks", Scope: account.ScopeRead, Subject: "workspace",
		Summary: "Get task statistics of a workspace", Faults: []fault.Code{fault.WorkspaceNotFound},
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

// A graph counts as one request, plus one for each of these numbers of tasks and of blockers.
const (
	tasksOfARequest = 25
	edgesOfARequest = 250
)

// graphOf parses the requested tasks, and counts them against the caller's rate.
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
	filter := task.Filter{Status: lifecycle.TaskState(in.Status), Ready: in.Ready, Words: in.Q}
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
	id, newest := server.PathID(in.ID), in.Order == "newest"
	cursor := taskEventsCursor
	if newest {
		cursor = newestEventsCursor
	}
	return server.ListOf(in.Paging, cursor, func(place int64, limit int) ([]core.StreamedEvent, error) {
		events, err := h.tasks.Events(ctx, server.Caller(ctx), id, place, newest, limit)
		return events, h.Refusal(ctx, in.ID, err)
	}, func(e core.StreamedEvent) int64 { return e.Seq }, server.HistoryFrom)
}
