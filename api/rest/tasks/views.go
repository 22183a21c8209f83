package tasks

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

type myTasksInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"50" default:"10" doc:"Maximum number of each; fewer if they are long"`
}

type boardInput struct {
	ID    string `path:"id" example:"2" doc:"Workspace ID"`
	Limit int    `query:"limit" minimum:"1" maximum:"50" default:"20" doc:"Maximum number in each status; fewer if they are long"`
}

type graphInput struct {
	ID    string `path:"id" example:"12" doc:"Task or workspace ID"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"60" doc:"Number of tasks"`
}

// registerViews adds the operations that show several tasks at once.
func (h *handlers) registerViews(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "list-my-tasks", Route: "GET /v1/tasks/mine", Scope: account.ScopeRead,
		Summary: "Get your open tasks by nearest deadline, and tasks that you can claim",
	}, h.listMyTasks)

	server.Register(tasks, server.Operation{
		Id: "get-task-board", Route: "GET /v1/workspaces/{id}/board", Scope: account.ScopeRead, Subject: "workspace",
		Summary: "Get the newest tasks of a workspace by status", Faults: []fault.Code{fault.WorkspaceNotFound},
	}, h.getBoard)

	server.Register(tasks, server.Operation{
		Id: "get-task-graph", Route: "GET /v1/tasks/{id}/graph", Scope: account.ScopeRead,
		Summary: "Get all direct and indirect blockers and dependents of a task",
		Faults:  []fault.Code{fault.TaskNotFound},
	}, h.getTaskGraph)

	server.Register(tasks, server.Operation{
		Id: "get-workspace-graph", Route: "GET /v1/workspaces/{id}/graph", Scope: account.ScopeRead, Subject: "workspace",
		Summary:     "Get the newest tasks of a workspace that have blockers or dependents",
		Description: "Searches the 1,000 newest tasks.",
		Faults:      []fault.Code{fault.WorkspaceNotFound},
	}, h.getWorkspaceGraph)
}

func (h *handlers) listMyTasks(ctx context.Context, in *myTasksInput) (shape.MyTasks, error) {
	user := server.Caller(ctx)
	mine, err := h.tasks.Mine(ctx, user, in.Limit)
	return server.Shown(mine, err, func(m task.Work) shape.MyTasks {
		body := shape.MyTasks{
			Counts: m.Counts, Assigned: fitting(user, m.Assigned, 2), Ready: fitting(user, m.Ready, 2),
		}
		if body.Counts == nil {
			body.Counts = map[lifecycle.TaskState]int64{}
		}
		return body
	})
}

func (h *handlers) getBoard(ctx context.Context, in *boardInput) (shape.TaskBoard, error) {
	user := server.Caller(ctx)
	columns, err := h.tasks.Board(ctx, user, server.PathID(in.ID), in.Limit)
	return server.Shown(columns, h.Refusal(ctx, in.ID, err), func(columns []tasks.Column) shape.TaskBoard {
		return shape.TaskBoard{
			WorkspaceID: in.ID, Columns: shape.List(columns, func(c tasks.Column) shape.TaskColumn {
				items := fitting(user, c.Tasks, len(columns))
				return shape.TaskColumn{Status: c.State, Items: items, More: c.More || len(items) < len(c.Tasks), Count: c.Count}
			}),
		}
	})
}

// fitting shows the leading tasks that fit into one of several equal parts of a response.
func fitting(user account.User, tasks []task.Task, parts int) []shape.Task {
	items, _ := server.Fit(shape.List(tasks, taskFor(user)), server.MostOfPage/parts)
	return items
}

func (h *handlers) getTaskGraph(ctx context.Context, in *graphInput) (shape.TaskGraph, error) {
	graph, err := h.tasks.Graph(ctx, server.Caller(ctx), server.PathID(in.ID), in.Limit)
	return server.Shown(graph, h.Refusal(ctx, in.ID, err), graphFrom)
}

func (h *handlers) getWorkspaceGraph(ctx context.Context, in *graphInput) (shape.TaskGraph, error) {
	graph, err := h.tasks.GraphOfWorkspace(ctx, server.Caller(ctx), server.PathID(in.ID), in.Limit)
	return server.Shown(graph, h.Refusal(ctx, in.ID, err), graphFrom)
}

func graphFrom(g tasks.Graph) shape.TaskGraph {
	return shape.TaskGraph{Partial: g.Partial, Items: shape.List(g.Nodes, func(n task.Node) shape.TaskNode {
		return shape.TaskNode{
			ID: shape.ID(n.ID), Title: n.Title, Status: n.State, AssigneeID: shape.OptionalID(n.AssigneeID),
			BlockedBy: shape.List(n.BlockedBy, shape.ID),
		}
	})}
}
