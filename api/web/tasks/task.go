package tasks

import (
	"slices"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// taskView is everything on a task's page.
type taskView struct {
	shape.Task
	Workspace shape.Workspace
	Names     names
	Creator   string
	Events    shape.Page[shape.History]
	Steps     []string // open to the person now
	Refused   []refused
	Drawing   drawing
	WaitsFor  []waited // its blockers
	Awaited   []shape.TaskNode

	Results    []result
	Priorities []string
	LabelsText string
	MaySubmit  bool
	MayFinish  bool
	MayEdit    bool
}

// waited is a blocker of a task. Its title is empty if the person may not see it.
type waited struct {
	shape.Blocker
	Title string
}

// refused are steps that are not open to the person now, for the same reason.
type refused struct {
	Steps []string
	Why   string
	Code  fault.Code
}

// graphAround is how many tasks the graph on a task's page shows.
const graphAround = "30"

func showTask(r *site.Request) (site.View, error) {
	var options shape.TaskOptions
	var graph shape.TaskGraph
	view := taskView{Priorities: task.Priorities}
	err := r.ReadAll(
		site.Into(&view.Task, "/v1/tasks/{id}"), view.addResults,
		site.Into(&options, "/v1/tasks/{id}/actions"),
		site.Into(&graph, "/v1/tasks/{id}/graph?limit="+graphAround),
		site.Into(&view.Events, "/v1/tasks/{id}/events"+most), view.addPeople,
	)
	if err != nil {
		return site.View{}, err
	}

	view.LabelsText = strings.Join(view.Labels, ", ")
	view.Drawing = drawGraph(graph, view.ID)
	view.connect(graph)
	view.sortOptions(r.Language, options.Items)
	return site.View{Title: words.TaskNumber.In(r.Language, number(view.ID)) + " " + view.Task.Title, Data: view}, nil
}

func (v *taskView) addResults(r *site.Request) (err error) {
	v.Results, err = results(r, v.Task)
	return err
}

// addPeople reads the workspace and the names of its members. A viewer who acts as an administrator, or has a task in a
// workspace that they have left, sees numbers.
func (v *taskView) addPeople(r *site.Request) error {
	all, err := members(r, v.WorkspaceID)
	if err == nil {
		v.Workspace, err = site.Get[shape.Workspace](r, workspacePath(v.WorkspaceID))
	}
	v.Names = namesOf(r, all)
	v.Creator = v.Names.Of(&v.CreatorID)
	if isCode(err, fault.WorkspaceNotFound) {
		return nil
	}
	return err
}

// connect finds the titles of adjacent tasks.
func (v *taskView) connect(graph shape.TaskGraph) {
	titles := map[string]string{}
	for _, node := range graph.Items {
		titles[node.ID] = node.Title
		if slices.Contains(node.BlockedBy, v.ID) {
			v.Awaited = append(v.Awaited, node)
		}
	}
	for _, blocker := range v.Blockers {
		v.WaitsFor = append(v.WaitsFor, waited{blocker, titles[blocker.ID]})
	}
}

// sortOptions splits the actions into possible ones and impossible ones, the latter by reason.
func (v *taskView) sortOptions(language string, options []shape.TaskOption) {
	for _, option := range options {
		step := string(option.Action)
		if option.Action == lifecycle.TaskActionStatus {
			step = string(option.To)
		}

		switch {
		case option.Allowed && option.Action == lifecycle.TaskActionSubmit: // has its own form, like editing
			v.MaySubmit = true
			continue
		case option.Allowed && option.Action == lifecycle.TaskActionEdit:
			v.MayEdit = true
			continue
		case option.Allowed && !option.ChangesNothing:
			v.Steps = append(v.Steps, step)
			continue
		}

		why := v.whyNot(language, option)
		same := slices.IndexFunc(v.Refused, func(r refused) bool { return r.Why == why })
		if same < 0 {
			same = len(v.Refused)
			v.Refused = append(v.Refused, refused{Why: why, Code: shape.Value(option.Code)})
		}

		v.Refused[same].Steps = append(v.Refused[same].Steps, step)
	}

	v.MayFinish = slices.Contains(v.Steps, string(lifecycle.TaskDone))
	slices.SortStableFunc(v.Steps, byWeight)
}

// byWeight puts judging a result before the other steps, and ending the task last.
func byWeight(a, b string) int {
	weight := func(step string) int {
		switch step {
		case string(lifecycle.TaskActionApprove), string(lifecycle.TaskActionReject):
			return -1
		case string(lifecycle.TaskCancelled):
			return 1
		default:
			return 0
		}
	}
	return weight(a) - weight(b)
}

// whyNot explains in plain words why an action is refused.
func (v *taskView) whyNot(language string, option shape.TaskOption) string {
	code := shape.Value(option.Code)
	switch {
	case option.ChangesNothing:
		return words.TaskYours.In(language)
	case code == fault.TaskAlreadyClaimed && v.AssigneeID != nil:
		return words.TaskHeldBy.In(language, v.Names.Of(v.AssigneeID))
	case code == fault.UnresolvedBlockers:
		open, cancelled := openBlockers(language, v.Task)
		if cancelled != "" {
			return words.TaskNeverStarts.In(language, cancelled)
		}
		return words.TaskStillBlocked.In(language, open)
	case code == fault.InvalidTransition && v.Ended():
		return texts["why-ended"].In(language)
	case code == fault.InvalidTransition:
		return texts["why-state"].In(language, words.TaskStates[v.Status].Plain(language))
	case code == fault.InsufficientAccess && len(option.OnlyFor) == 0:
		return texts["why-private"].In(language)
	case code == fault.InsufficientAccess:
		var people []string
		for _, role := range option.OnlyFor {
			people = append(people, roleNames[role].In(language))
		}
		slices.Sort(people)
		return texts["why-role"].In(language, strings.Join(slices.Compact(people), ", "))
	}

	return words.Tasks.Faults.Text(code).In(language)
}

// openBlockers lists unfinished blockers, and among them those that are canceled.
func openBlockers(language string, t shape.Task) (open, cancelled string) {
	var all, never []string
	for _, blocker := range t.Blockers {
		name := words.TaskNumber.In(language, number(blocker.ID))
		if blocker.Status != lifecycle.TaskDone {
			all = append(all, name)
		}
		if blocker.Status == lifecycle.TaskCancelled {
			never = append(never, name)
		}
	}
	return strings.Join(all, ", "), strings.Join(never, ", ")
}

// act takes a step of a task, or comments on it. Releasing somebody else's private task hides it.
func act(r *site.Request) (next string, err error) {
	step := r.PostFormValue("step")
	body := map[string]string{"comment": r.PostFormValue("comment")}
	switch step {
	case words.StepComment:
		_, err = site.Post[shape.History](r, "/v1/tasks/{id}/comments", body)
	case string(lifecycle.TaskActionSubmit), string(lifecycle.TaskActionApprove), string(lifecycle.TaskActionReject):
		err = review(r, step)
	case string(lifecycle.TaskActionEdit):
		err = edit(r)
	case string(lifecycle.TaskActionClaim), string(lifecycle.TaskActionEscalate), string(lifecycle.TaskActionTakeover):
		_, err = site.Post[shape.Task](r, "/v1/tasks/{id}/"+step, body)
	default:
		body["to"] = step
		_, err = site.Post[shape.Task](r, "/v1/tasks/{id}/status", body)
	}

	if err != nil {
		return "", err
	}

	if _, err := site.Get[shape.Task](r, "/v1/tasks/{id}"); isCode(err, fault.TaskNotFound) {
		return "/tasks", nil
	}
	return r.URL.Path, nil
}

// number is the number in an id.
func number(id string) int64 {
	n, _ := shape.ParseID(id)
	return n
}
