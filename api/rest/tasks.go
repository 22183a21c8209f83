package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

const (
	tasksCursor      = "tasks"
	taskEventsCursor = "task events"
)

type createTaskInput struct {
	Keyed
	Body struct {
		WorkspaceID string `json:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
		NewTaskBody
	} `nameHint:"TaskRequest"`
}

type createTasksInput struct {
	Keyed
	Body struct {
		WorkspaceID string         `json:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
		Tasks       []batchRequest `json:"tasks" minItems:"1" maxItems:"500"`
	} `nameHint:"TaskBatchRequest"`
}

// batchRequest is one task of a graph. Its blocked_by may name the refs of others.
type batchRequest struct {
	Ref string `json:"ref,omitempty" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"notes" doc:"How blocked_by of other tasks of this batch names it"`
	NewTaskBody
}

type listTasksInput struct {
	Paging
	WorkspaceID string `query:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" doc:"Only those of this workspace"`
	Status      string `query:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"Only those in this status"`
	Assignee    string `query:"assignee" pattern:"^(me|[1-9][0-9]{0,18})$" patternDescription:"the id of a user, or me" doc:"Only those of this user, or your own"`
	Ready       bool   `query:"ready" doc:"Only those that can be claimed now"`
}

type taskInput struct {
	ID string `path:"id" example:"12" doc:"The id of a task"`
}

type taskEventsInput struct {
	Paging
	ID string `path:"id" example:"12" doc:"The id of a task"`
}

var (
	createTask = operation{
		id: "create-task", method: http.MethodPost, path: "/v1/tasks", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "workspace",
		summary: "Make a task", status: http.StatusCreated,
		faults: []fault.Code{fault.WorkspaceNotFound, fault.UnknownBlocker, fault.QuotaExceeded},
	}
	createTasks = operation{
		id: "create-tasks", method: http.MethodPost, path: "/v1/tasks/batch", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "workspace",
		summary: "Make a whole graph of tasks, all or none", status: http.StatusCreated,
		description: "A task's `blocked_by` names others of the batch by their `ref`, or existing tasks by their ids.",
		faults:      []fault.Code{fault.WorkspaceNotFound, fault.UnknownBlocker, fault.CyclicDependency, fault.QuotaExceeded},
	}
	listTasks = operation{
		id: "list-tasks", method: http.MethodGet, path: "/v1/tasks", tag: "Tasks", access: forUsers, scope: store.ScopeRead,
		summary: "List the tasks that you may see, the newest first",
	}
	getTask = operation{
		id: "get-task", method: http.MethodGet, path: "/v1/tasks/{id}", tag: "Tasks", access: forUsers,
		scope: store.ScopeRead, subject: "task",
		summary: "Look at a task", faults: []fault.Code{fault.TaskNotFound},
	}
	listTaskEvents = operation{
		id: "list-task-events", method: http.MethodGet, path: "/v1/tasks/{id}/events", tag: "Tasks", access: forUsers,
		scope: store.ScopeRead, subject: "task",
		summary: "What happened to a task, and what was said about it, from the beginning",
		faults:  []fault.Code{fault.TaskNotFound},
	}
)

func (s *server) registerTasks() {
	register(s, createTask, s.createTask)
	register(s, createTasks, s.createTasks)
	register(s, listTasks, s.listTasks)
	register(s, getTask, s.getTask)
	register(s, listTaskEvents, s.listTaskEvents)
}

func (s *server) createTask(ctx context.Context, in *createTaskInput) (*answer[shape.Task], error) {
	workspace, err := parseWorkspace(in.Body.WorkspaceID)
	if err != nil {
		return nil, err
	}

	wanted, err := in.Body.task()
	if err != nil {
		return nil, err
	}

	made, err := s.o.Tasks.Create(ctx, caller(ctx), workspace, wanted, in.Key)
	if err != nil {
		return nil, s.refusal(ctx, createTask, in.Body.WorkspaceID, err)
	}

	s.auditGuest(ctx, createTask, workspace)
	return answered(taskFrom(caller(ctx), made)), nil
}

func (s *server) createTasks(ctx context.Context, in *createTasksInput) (*answer[shape.TaskBatch], error) {
	workspace, err := parseWorkspace(in.Body.WorkspaceID)
	if err != nil {
		return nil, err
	}

	graph := make([]store.NewTask, len(in.Body.Tasks))
	for i, wanted := range in.Body.Tasks {
		if graph[i], err = wanted.task(); err != nil {
			return nil, fault.As(err).WithField(store.FieldOf(i, fault.As(err).Field))
		}
		graph[i].Ref = wanted.Ref
	}

	made, err := s.o.Tasks.CreateBatch(ctx, caller(ctx), workspace, graph, in.Key)
	if err != nil {
		return nil, s.refusal(ctx, createTasks, in.Body.WorkspaceID, err)
	}

	s.auditGuest(ctx, createTasks, workspace)
	body := shape.TaskBatch{Items: make([]shape.BatchTask, len(made))}
	for i, task := range made {
		body.Items[i] = shape.BatchTask{Ref: graph[i].Ref, Task: taskFrom(caller(ctx), task)}
	}
	return answered(body), nil
}

func (s *server) listTasks(ctx context.Context, in *listTasksInput) (*answer[shape.Page[shape.Task]], error) {
	user := caller(ctx)
	filter := store.TaskFilter{Status: lifecycle.TaskState(in.Status), Ready: in.Ready}
	var err error
	if filter.WorkspaceID, err = optionalID(in.WorkspaceID, "workspace_id"); err != nil {
		return nil, err
	}

	if in.Assignee == "me" {
		filter.AssigneeID = user.ID
	} else if filter.AssigneeID, err = optionalID(in.Assignee, "assignee"); err != nil {
		return nil, err
	}
	return listOf(in.Paging, tasksCursor, func(before int64, limit int) ([]store.Task, error) {
		filter.Before, filter.Limit = before, limit
		return s.o.Tasks.List(ctx, user, filter)
	}, func(t store.Task) int64 { return t.ID }, func(t store.Task) shape.Task { return taskFrom(user, t) })
}

func (s *server) getTask(ctx context.Context, in *taskInput) (*answer[shape.Task], error) {
	id, err := parseTask(in.ID)
	if err != nil {
		return nil, err
	}
	task, err := s.o.Tasks.Find(ctx, caller(ctx), id)
	if err != nil {
		return nil, s.refusal(ctx, getTask, in.ID, err)
	}
	return answered(taskFrom(caller(ctx), task)), nil
}

func (s *server) listTaskEvents(ctx context.Context, in *taskEventsInput) (*answer[shape.Page[shape.History]], error) {
	id, err := parseTask(in.ID)
	if err != nil {
		return nil, err
	}
	return listOf(in.Paging, taskEventsCursor, func(after int64, limit int) ([]store.StreamedEvent, error) {
		events, err := s.o.Tasks.Events(ctx, caller(ctx), id, after, limit)
		return events, s.refusal(ctx, listTaskEvents, in.ID, err)
	}, func(e store.StreamedEvent) int64 { return e.Seq }, historyFrom)
}

func parseTask(text string) (int64, error) {
	id, ok := parseID(text)
	if !ok {
		return 0, fault.New(fault.TaskNotFound, "there is no such task")
	}
	return id, nil
}

// optionalID reads a parameter that may be left out: 0 then.
func optionalID(text, field string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, ok := parseID(text)
	if !ok {
		return 0, fault.New(fault.Validation, "this is no id").WithField(field)
	}
	return id, nil
}
