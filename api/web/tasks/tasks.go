// Package tasks has the pages of workspaces and their tasks.
package tasks

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

//go:embed templates
var templates embed.FS

// Part returns the pages.
func Part() site.Part {
	live := lifecycle.WorkloadTask
	return site.Part{
		Sections:  []site.Section{{Path: "/tasks", Title: "tasks"}},
		Templates: templates, Texts: texts, Words: words.Tasks,
		Commands: map[string]string{"task": "/tasks", "ready": "/tasks?ready=true"},
		States: map[string]map[string]words.Text{
			live:            site.Names(words.TaskStates),
			"task-priority": words.TaskPriorities,
			"task-step":     words.TaskSteps,
			"task-event":    eventNames,
		},
		Pages: []site.Page{
			{Route: "/tasks", Name: "tasks", Title: "tasks", Live: live, Show: showTasks},
			{Route: "/tasks/new", Name: "task-new", Title: "new-task", Show: showNew},
			{Route: "/tasks/batch", Name: "task-batch", Title: "new-batch", Show: showBatch},
			{Route: "/tasks/{id}", Name: "task", Live: live, Show: showTask},
			{Route: "/tasks/workspaces", Name: "workspaces", Title: "workspaces", Show: showWorkspaces},
			{Route: "/tasks/workspaces/{workspace}", Name: "task-board", Live: live, Show: show(board)},
			{Route: "/tasks/workspaces/{workspace}/graph", Name: "task-graph", Live: live, Show: show(graph)},
			{Route: "/tasks/workspaces/{workspace}/stats", Name: "task-stats", Live: live, Show: show(stats)},
			{Route: "/tasks/workspaces/{workspace}/settings", Name: "workspace-settings", Show: show(settings)},
		},
		Actions: []site.Action{
			{Route: "/tasks/new", Page: "task-new", Do: create},
			{Route: "/tasks/batch", Page: "task-batch", Form: server.MaxBody, Do: createBatch},
			{Route: "/tasks/{id}", Page: "task", Do: act},
			{Route: "/tasks/workspaces", Page: "workspaces", Do: changeWorkspaces},
			{Route: "/tasks/workspaces/{workspace}/settings", Page: "workspace-settings", Do: changeWorkspace},
		},
		Card: card,
	}
}

// most requests the API's maximum number of workspaces, members or events.
const most = "?limit=200"

// tasksView is a list of tasks and its filters.
type tasksView struct {
	shape.Page[shape.Task]
	Workspaces []shape.Workspace
	Workspace  string // one of the person's, to list only its tasks; empty: all
	States     []lifecycle.TaskState
}

func showTasks(r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Task]](
		r, "/v1/tasks", "status", "assignee", "ready", "q", "workspace_id=workspace", "cursor",
	)
	if err != nil {
		return site.View{}, err
	}

	spaces, err := workspaces(r)
	workspace := r.Asked("workspace")
	if !slices.ContainsFunc(spaces, func(w shape.Workspace) bool { return w.ID == workspace }) {
		workspace = "" // it is not the person's, so there is nothing to link to
	}
	return site.View{Data: tasksView{list, spaces, workspace, lifecycle.TaskStates}}, err
}

func workspaces(r *site.Request) ([]shape.Workspace, error) {
	list, err := site.Get[shape.Page[shape.Workspace]](r, "/v1/workspaces"+most)
	return list.Items, err
}

// needsShown is how many tasks the home page lists, and each half of the card.
const needsShown = 5

// card shows what the person works on and could claim.
func card(r *site.Request) (site.Card, error) {
	mine, err := site.Get[shape.MyTasks](r, fmt.Sprint("/v1/tasks/mine?limit=", needsShown))
	shown := site.Card{Data: mine}
	for _, t := range mine.Assigned {
		need := site.Need{Text: texts["task-need"].In(r.Language, t.ID, t.Title), Path: pathOf(t), Due: t.StatusDeadlineAt}
		shown.Needs = append(shown.Needs, need)
	}

	for _, t := range mine.Ready {
		need := site.Need{Text: texts["task-claimable"].In(r.Language, t.ID, t.Title), Path: pathOf(t)}
		shown.Needs = append(shown.Needs, need)
	}

	shown.Needs = shown.Needs[:min(needsShown, len(shown.Needs))]
	return shown, err
}

func pathOf(t shape.Task) string { return "/tasks/" + t.ID }

// newView is the form for a new task, or for a batch.
type newView struct {
	Workspaces []shape.Workspace
	Workspace  *shape.Workspace // nil: still to be chosen
	Members    []shape.Member
	Priorities []string
}

// formFor finds a form's workspace: the one in the URL, or the only one.
func formFor(r *site.Request) (view newView, err error) {
	if view.Workspaces, err = workspaces(r); err != nil {
		return view, err
	}

	wanted := r.Asked("workspace")
	for i, one := range view.Workspaces {
		if one.ID == wanted || wanted == "" && len(view.Workspaces) == 1 {
			view.Workspace = &view.Workspaces[i]
		}
	}

	if view.Workspace == nil && wanted != "" {
		found, err := site.Get[shape.Workspace](r, workspacePath(wanted))
		view.Workspace = &found
		return view, err
	}

	return view, nil
}

func showNew(r *site.Request) (site.View, error) {
	view, err := formFor(r)
	if err == nil && view.Workspace != nil {
		view.Members, err = members(r, view.Workspace.ID)
	}
	view.Priorities = task.Priorities
	return site.View{Data: view}, err
}

// create creates a task, and shows it.
func create(r *site.Request) (next string, err error) {
	wanted := shape.TaskRequest{WorkspaceID: r.PostFormValue("workspace_id"), NewTask: shape.NewTask{
		Title: r.PostFormValue("title"), Description: r.PostFormValue("description"),
		Priority: r.PostFormValue("priority"), Visibility: r.PostFormValue("visibility"),
		AssigneeID: shape.Optional(r.PostFormValue("assignee_id")), Labels: listed(r.PostFormValue("labels"), ","),
		BlockedBy: listed(strings.NewReplacer("#", " ", "№", " ", ",", " ").Replace(r.PostFormValue("blocked_by")), " "),
	}}

	made, err := site.Post[shape.Task](r, "/v1/tasks", wanted)
	return pathOf(made), err
}

// listed splits a text at separators.
func listed(text, separator string) (all []string) {
	for one := range strings.SplitSeq(text, separator) {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}
