package tasks

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// spacePath is the API path of the workspace in the page's URL.
const spacePath = "/v1/workspaces/{workspace}"

func workspacePath(id string) string { return "/v1/workspaces/" + url.PathEscape(id) }

func pathOfWorkspace(id string) string { return "/tasks/workspaces/" + url.PathEscape(id) }

// workspacesView are a person's workspaces and invitations.
type workspacesView struct {
	shape.Page[shape.Workspace]
	Invitations shape.Page[shape.Invitation]
}

func showWorkspaces(r *site.Request) (site.View, error) {
	var view workspacesView
	err := r.ReadAll(
		site.Into(&view.Page, "/v1/workspaces"+most, "cursor"), site.Into(&view.Invitations, "/v1/invitations"),
	)
	return site.View{Data: view}, err
}

// changeWorkspaces creates a workspace, or answers an invitation.
func changeWorkspaces(r *site.Request) (next string, err error) {
	switch change := r.PostFormValue("change"); change {
	case "agree":
		asked := r.PostFormValue("workspace")
		return pathOfWorkspace(asked), site.Ask(r, "POST "+workspacePath(asked)+"/agree")
	case "refuse":
		return "/tasks/workspaces", site.Ask(r, "POST "+workspacePath(r.PostFormValue("workspace"))+"/refuse")
	}

	made, err := site.Post[shape.Workspace](r, "/v1/workspaces", map[string]string{"name": r.PostFormValue("name")})
	return pathOfWorkspace(made.ID), err
}

// spaceView is what all pages of a workspace show.
type spaceView struct {
	Workspace shape.Workspace
	Data      any // the page's own data
}

// show makes a page of a workspace.
func show(read func(*site.Request) (any, error)) func(*site.Request) (site.View, error) {
	return func(r *site.Request) (site.View, error) {
		space, err := site.Get[shape.Workspace](r, spacePath)
		if err != nil {
			return site.View{}, err
		}
		data, err := read(r)
		return site.View{Title: space.Name, Data: spaceView{space, data}}, err
	}
}

// boardView has a column for each status.
type boardView struct {
	Columns []shape.TaskColumn
	Names   names
}

// boardShown is how many tasks each column of a board shows.
const boardShown = "12"

func board(r *site.Request) (any, error) {
	board, err := site.Get[shape.TaskBoard](r, spacePath+"/board?limit="+boardShown)
	if err != nil {
		return nil, err
	}
	all, err := members(r, r.PathValue("workspace"))
	return boardView{Columns: board.Columns, Names: namesOf(r, all)}, err
}

// graphShown is how many tasks the graph of a workspace shows.
const graphShown = "60"

func graph(r *site.Request) (any, error) {
	graph, err := site.Get[shape.TaskGraph](r, spacePath+"/graph?limit="+graphShown)
	return drawGraph(graph, ""), err
}

// settingsView are the members of a workspace and the deadlines of its statuses.
type settingsView struct {
	Members shape.Page[shape.Member]
	Timed   []lifecycle.TaskState
	Me      string
}

func settings(r *site.Request) (any, error) {
	list, err := site.Get[shape.Page[shape.Member]](r, spacePath+"/members"+most, "cursor")
	return settingsView{list, lifecycle.TaskTimed, shape.ID(r.Who.User.ID)}, err
}

// changeWorkspace performs the action of one of the settings' forms.
func changeWorkspace(r *site.Request) (next string, err error) {
	id := r.PathValue("workspace")
	path, user := workspacePath(id), strings.TrimSpace(r.PostFormValue("user"))
	next = pathOfWorkspace(id) + "/settings"

	switch r.PostFormValue("change") {
	case "add":
		if user != "" && strings.Trim(user, "0123456789") != "" {
			user = "@" + strings.TrimPrefix(user, "@")
		}
		next += "?invited=" + url.QueryEscape(user)
		return next, site.Ask(r, "PUT "+path+"/members/"+url.PathEscape(cmp.Or(user, "0")))
	case "remove":
		if user == shape.ID(r.Who.User.ID) { // a person who leaves no longer sees it
			next = "/tasks/workspaces"
		}
		return next, site.Ask(r, "DELETE "+path+"/members/"+url.PathEscape(cmp.Or(user, "0")))
	}

	change, err := settingsOf(r)
	if err != nil {
		return "", err
	}

	_, err = site.Send[shape.Workspace](r, "PATCH "+path, change)
	return next, err
}

// settingsOf reads the form with the deadlines.
func settingsOf(r *site.Request) (map[string]any, error) {
	deadlines := map[lifecycle.TaskState]float64{}
	for _, state := range lifecycle.TaskTimed {
		minutes, err := minutesOf(r, "deadline-"+string(state))
		if err != nil {
			return nil, err
		}
		deadlines[state] = minutes
	}

	release, err := minutesOf(r, "stuck_release_after")
	return map[string]any{
		"name": r.PostFormValue("name"), "status_deadlines": deadlines, "stuck_release_after": release,
		"new_deadline_waits_for_blockers": r.PostFormValue("waits") != "",
		"review_required":                 r.PostFormValue("reviews") != "",
	}, err
}

// minutesOf parses a number of minutes; empty is 0.
func minutesOf(r *site.Request, field string) (float64, error) {
	text := strings.ReplaceAll(cmp.Or(strings.TrimSpace(r.PostFormValue(field)), "0"), ",", ".")
	minutes, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fault.Invalid(field, "%s", texts["no-number"].In(r.Language, text))
	}
	return minutes, nil
}

// statsView are a workspace's statistics and their charts.
type statsView struct {
	shape.TaskStats
	Charts  []site.Chart
	Periods []string
}

func stats(r *site.Request) (any, error) {
	const path = "/v1/stats/tasks?period=week&workspace_id={workspace}"
	stats, err := site.Get[shape.TaskStats](r, path, "period")
	return statsView{stats, charts(r.Language, stats.Days), []string{"week", "month", "all"}}, err
}

// charts shows the tasks created and completed per day, and how long they took.
func charts(language string, days []shape.TaskDay) []site.Chart {
	all := []site.Chart{
		{Title: texts["chart-created"].In(language)},
		{Title: texts["chart-done"].In(language)},
		{Title: texts["chart-lead"].In(language)},
		{Title: texts["chart-cycle"].In(language)},
	}

	for _, day := range days {
		label := words.Day(language, day.Day)
		for i, count := range []int64{day.Created, day.Done} {
			bar := site.Bar{Label: label, Value: float64(count), Text: strconv.FormatInt(count, 10)}
			all[i].Bars = append(all[i].Bars, bar)
		}

		for i, seconds := range []*float64{day.LeadTimeMedian, day.CycleTimeMedian} {
			bar := site.Bar{Label: label, Value: shape.Value(seconds), Text: "—"}
			if seconds != nil {
				bar.Text = words.Seconds(language, seconds)
			}
			all[2+i].Bars = append(all[2+i].Bars, bar)
		}
	}

	return all
}
