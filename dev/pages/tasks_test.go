package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/wait"
)

// office is a workspace of the user whose pages are tested, with another member and tasks by ref.
type office struct {
	*testing.T
	shape.Workspace
	other shape.User // a member
	ids   map[string]string
}

// newOffice creates a workspace whose NEW tasks have this many minutes.
func newOffice(t *testing.T, minutes float64) *office {
	t.Helper()
	o := &office{T: t, ids: map[string]string{}}
	o.other = newUser(t, "Eve")
	name := fmt.Sprint("Office ", time.Now().UnixNano())
	o.Workspace = ask[shape.Workspace](t, running.Info.UserToken, "POST /v1/workspaces", map[string]any{
		"name": name, "status_deadlines": map[string]float64{"NEW": minutes},
	})
	o.call(running.Info.UserToken, "PUT /v1/workspaces/"+o.ID+"/members/"+o.other.ID)
	o.call(o.other.Token, "POST /v1/workspaces/"+o.ID+"/agree")
	return o
}

func newUser(t *testing.T, name string) shape.User {
	t.Helper()
	return ask[shape.User](t, running.Info.AdminToken, "POST /v1/users", map[string]string{"name": name})
}

// ask makes a request to the API.
func ask[T any](t *testing.T, token, call string, body any) T {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	answer, err := client.Ask[T](t.Context(), &client.Client{Base: running.Info.API, Token: token}, client.Call{
		Method: method, Path: path, Body: body,
	})
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return answer
}

// call makes a request whose answer is empty.
func (o *office) call(token, call string) {
	o.Helper()
	method, path, _ := strings.Cut(call, " ")
	c := &client.Client{Base: running.Info.API, Token: token}
	if _, _, err := c.Send(o.Context(), client.Call{Method: method, Path: path}); err != nil {
		o.Fatalf("%s: %v", call, err)
	}
}

// add creates tasks, which are blocked by others by ref.
func (o *office) add(tasks ...map[string]any) {
	o.Helper()
	made := ask[shape.TaskBatch](o.T, running.Info.UserToken, "POST /v1/tasks/batch", map[string]any{
		"workspace_id": o.ID, "tasks": tasks,
	})
	for _, task := range made.Items {
		o.ids[task.Ref] = task.ID
	}
}

// act takes a step with a task: an action, or the status to set.
func (o *office) act(token, ref, step string) {
	o.Helper()
	body := map[string]string{"comment": "by the API"}
	if strings.ToUpper(step) == step {
		body["to"], step = step, "status"
	}
	ask[shape.Task](o.T, token, "POST /v1/tasks/"+o.ids[ref]+"/"+step, body)
}

// awaitStatus waits until a task has a status.
func (o *office) awaitStatus(ref, status string) {
	o.Helper()
	wait.Eventually(o.T, "the task is "+status, func() bool {
		task, err := client.Ask[shape.Task](o.Context(), api(), client.Call{Method: http.MethodGet, Path: "/v1/tasks/" + o.ids[ref]})
		return err == nil && string(task.Status) == status
	})
}

// everyState creates a task in each state, two blocked ones, a private one and one of every priority.
func everyState(t *testing.T) *office {
	t.Helper()
	o := newOffice(t, 0.05)
	o.add(map[string]any{"ref": "stuck", "title": "Answer the letter"})
	o.awaitStatus("stuck", "STUCK")

	ask[shape.Workspace](
		t, running.Info.UserToken, "PATCH /v1/workspaces/"+o.ID,
		map[string]any{"status_deadlines": map[string]float64{"NEW": 120}},
	)
	o.add(
		map[string]any{"ref": "plan", "title": "Draw the plan", "priority": "high", "labels": []string{"yard", "двор"}},
		map[string]any{"ref": "wood", "title": "Buy wood", "description": "Oak.\nAsk for the price first."},
		map[string]any{"ref": "base", "title": "Pour the foundation", "blocked_by": []string{"plan"}, "priority": "critical"},
		map[string]any{
			"ref": "walls", "title": "Build the walls of the house at the end of the street",
			"blocked_by": []string{"base", "wood"}, "priority": "low",
		},
		map[string]any{
			"ref": "secret", "title": "Hide the surprise", "visibility": "private", "blocked_by": []string{"plan"},
		},
		map[string]any{"ref": "permit", "title": "Ask for a permit"},
		map[string]any{"ref": "free", "title": "Order the sign"},
	)

	o.act(running.Info.UserToken, "plan", "claim")
	o.act(running.Info.UserToken, "plan", "DONE")
	o.act(o.other.Token, "wood", "claim")
	o.act(running.Info.UserToken, "base", "claim")
	o.act(o.other.Token, "base", "escalate")
	o.act(running.Info.UserToken, "permit", "CANCELLED")
	return o
}

// TestNightTasksLookRight shows every state on board, list and graph, and each kind of task on its page.
func TestNightTasksLookRight(t *testing.T) {
	night.Only(t)
	t.Parallel()
	o := everyState(t)
	at := "/tasks/workspaces/" + o.ID
	b := signedIn(t, running.Info.UserToken)

	for _, path := range []string{at, "/tasks?workspace=" + o.ID} {
		b.open(path)
		for _, state := range []string{"new", "in progress", "blocked", "stuck", "done", "cancelled"} {
			if badge := fmt.Sprintf(`[...document.querySelectorAll("main .badge")].some((b) => b.textContent === %q)`, state); !evaluate[bool](b, badge) {
				t.Errorf("%s shows nothing that is %s:\n%s", path, state, b.text())
			}
		}
	}

	paths := []string{
		"/", "/tasks", "/tasks?ready=true", "/tasks?assignee=me&status=CANCELLED", "/tasks?workspace=" + o.ID + "&status=DONE",
		"/tasks/workspaces", at, at + "/graph", at + "/stats", at + "/stats?period=month", at + "/stats?period=all",
		at + "/settings",
		"/tasks/new", "/tasks/new?workspace=" + o.ID, "/tasks/batch?workspace=" + o.ID,
	}

	for _, ref := range []string{"stuck", "plan", "wood", "base", "walls", "secret", "permit", "free"} {
		paths = append(paths, "/tasks/"+o.ids[ref])
	}

	looksRight(t, running.Info.UserToken, paths...)
}

// TestNightTasksEmpty views the pages of somebody who has nothing yet, and of a workspace without tasks.
func TestNightTasksEmpty(t *testing.T) {
	night.Only(t)
	t.Parallel()
	nobody := newUser(t, "Nobody")
	b := signedIn(t, nobody.Token)
	for _, path := range []string{"/tasks", "/tasks/new", "/tasks/batch", "/tasks/workspaces"} {
		b.open(path)
		b.shows("You are not in any workspace yet")
		b.accessible(path)
	}

	o := newOffice(t, 0)
	b = signedIn(t, running.Info.UserToken)
	for path, want := range map[string]string{"": "none", "/graph": "No task of this workspace waits", "/stats": "no task was done"} {
		b.open("/tasks/workspaces/" + o.ID + path)
		b.shows(want)
		b.accessible(path)
	}

	b.open("/tasks?workspace=" + o.ID + "&status=STUCK")
	b.shows("No tasks match")
}

// TestNightTasksWithoutScripts creates a workspace and a graph of tasks and works through it, without scripts.
func TestNightTasksWithoutScripts(t *testing.T) {
	night.Only(t)
	t.Parallel()
	user := newUser(t, "Ada")
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/tasks/workspaces")
	b.fill("#token", user.Token)
	b.press("main form button")
	b.fill("#name", "The yard")
	b.press("main form button")
	b.shows("The yard")

	b.press(`.tabs a[href$="/settings"]`)
	b.clear("#deadline-NEW")
	b.fill("#deadline-NEW", "soon")
	b.press(`button[value="settings"]`)
	b.shows("is not a number of minutes")
	b.wantStatus(http.StatusUnprocessableEntity)
	b.clear("#deadline-NEW")
	b.fill("#deadline-NEW", "30")
	b.press(`button[value="settings"]`)
	other := newUser(t, "Bob")
	b.fill(`input[name="user"]`, other.ID)
	b.press(`button[value="add"]`)
	b.shows(other.ID + ": if there is such a person, they are invited.")
	b.hides("Bob")
	agrees(t, other)
	b.press(`.tabs a[href$="/settings"]`)
	b.shows("Bob " + other.ID)
	b.press(fmt.Sprintf(`form:has(input[value="%s"]) button[value="remove"]`, other.ID))
	b.hides("Bob")

	b.press(`.tabs a`)
	b.press(`a[href^="/tasks/batch"]`)
	b.pasteBatch(`[{"title": "Draw the plan"`, "This is not JSON: look at line 1")
	b.pasteBatch(`[{"ref": "plan", "title": "Draw the plan"}, {"ref": "build", "title": ""}]`, "task 2 “build”: Title")
	b.pasteBatch(`[{"ref": "plan", "title": "Draw the plan", "blocked_by": ["none"]}]`, "task 1 “plan”: Waits for")
	b.pasteBatch(
		`[{"ref": "plan", "title": "Draw the plan"}, {"title": "Build it all", "blocked_by": ["plan"]}]`,
		"A task waits for the tasks to its left",
	)

	b.press(`svg a`) // the first one: the other's blocker
	b.shows("Draw the plan")
	b.step("claim", "I have a pencil")
	b.shows("claimed: new → in progress")
	b.step("comment", "Half of it is there")
	b.shows("Half of it is there")
	b.step("BLOCKED", "No paper")
	b.step("IN_PROGRESS", "Paper!")
	b.step("DONE", "It is on the wall")
	b.shows("The task has ended")

	b.press(`svg a:last-of-type`)
	b.shows("Build it all")
	b.step("claim", "Mine")
	b.step("NEW", "Not mine")
	b.step("CANCELLED", "We do not build")
	b.shows("We do not build")

	b.open("/tasks/new")
	b.fill("#title", "Paint the sign")
	b.fill("#labels", "paint, sign")
	b.fill("#blocked-by", "#999999999")
	b.press("main form .primary")
	b.shows("It would wait for a task that does not exist")
	b.wantStatus(http.StatusUnprocessableEntity)
	if title := evaluateValue(b, "#title"); title != "Paint the sign" {
		t.Errorf("what was typed is gone: %q", title)
	}

	b.clear("#blocked-by")
	b.press("main form .primary")
	b.shows("Paint the sign")
	b.shows("sign")
}

// agrees accepts the only invitation, without scripts.
func agrees(t *testing.T, user shape.User) {
	t.Helper()
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/tasks/workspaces")
	b.fill("#token", user.Token)
	b.press("main form button")
	b.shows("Until you agree, nothing from the workspace reaches you")
	b.press(`button[value="agree"]`)
	b.shows("The yard")
}

// TestNightTasksSayWhyNot reads why steps are not open: for the wrong person, in the wrong state, and while others are
// open.
func TestNightTasksSayWhyNot(t *testing.T) {
	night.Only(t)
	t.Parallel()
	o := everyState(t)
	b := signedIn(t, o.other.Token)
	for ref, want := range map[string][]string{
		"walls": {"It waits for tasks that are not done: #" + o.ids["wood"] + ", #" + o.ids["base"], "UNRESOLVED_BLOCKERS", "Only for its creator."},
		"base":  {"It is already claimed by user ", "TASK_ALREADY_CLAIMED", "Only for its assignee."},
		"wood":  {"It is already yours.", "You cannot escalate your own task", "Not possible while the task is in the state “in progress”."},
		"plan":  {"The task has ended"},
	} {
		b.open("/tasks/" + o.ids[ref])
		for _, text := range want {
			if ref == "base" {
				text = strings.Replace(text, "user ", "Demo", 1)
			}
			b.shows(text)
		}
	}

	b = signedIn(t, running.Info.UserToken)
	b.open("/tasks/" + o.ids["secret"])
	b.shows("The task is private")
	b.open("/tasks/" + o.ids["stuck"])
	b.shows("Take over")
}

// TestNightTasksAreLive works on a task while its page and the board are open: both change, typed input stays, and the
// deadline counts down.
func TestNightTasksAreLive(t *testing.T) {
	night.Only(t)
	t.Parallel()
	o := newOffice(t, 120)
	o.add(map[string]any{"ref": "one", "title": "Order the sign"})
	board, page := signedIn(t, running.Info.UserToken), signedIn(t, running.Info.UserToken)
	board.open("/tasks/workspaces/" + o.ID)
	board.isLive()
	page.open("/tasks/" + o.ids["one"])
	page.isLive()

	left := evaluate[string](page, `document.querySelector("time[data-countdown]").textContent`)
	if left != "2 h left" && !strings.HasPrefix(left, "1 h ") {
		t.Errorf("the deadline is %q", left)
	}

	page.fill("#comment", "I have begun to wr")
	evaluate[int](page, `document.activeElement.blur(), 0`)
	o.act(o.other.Token, "one", "claim")
	board.shows("Eve")
	page.shows("It is already claimed by Eve.")
	if typed := evaluateValue(page, "#comment"); typed != "I have begun to wr" {
		t.Fatalf("what was typed is gone: %q", typed)
	}

	page.fill("#comment", "ite")
	page.eventually(`!document.querySelector("button[value=claim]")`) // too late
	if typed := evaluateValue(page, "#comment"); typed != "I have begun to write" {
		t.Errorf("what was typed is gone: %q", typed)
	}
}

// TestNightTasksByKeyboard opens a task of the graph with just the keyboard.
func TestNightTasksByKeyboard(t *testing.T) {
	night.Only(t)
	t.Parallel()
	o := newOffice(t, 120)
	o.add(
		map[string]any{"ref": "one", "title": "Draw the plan"},
		map[string]any{"ref": "two", "title": "Build it all", "blocked_by": []string{"one"}},
	)
	b := signedIn(t, running.Info.UserToken)
	b.open("/tasks/workspaces/" + o.ID + "/graph")

	b.tabTo(`a[href$="/tasks/` + o.ids["two"] + `"]`)
	b.goes(kb.Enter)
	b.shows("Waits for")
}

// step takes a step of a task with its form.
func (b *browser) step(step, comment string) {
	b.Helper()
	b.fill("#comment", comment)
	b.press(fmt.Sprintf(`button[name="step"][value="%s"]`, step))
}

// pasteBatch submits a batch, which stays in the form when it is refused.
func (b *browser) pasteBatch(tasks, want string) {
	b.Helper()
	b.clear("#tasks")
	b.fill("#tasks", tasks)
	b.press("main form .primary")
	b.shows(want)
	if !evaluate[bool](b, `document.querySelector("#tasks") !== null`) {
		return
	}
	b.wantStatus(http.StatusUnprocessableEntity)
	if evaluateValue(b, "#tasks") != tasks {
		b.Errorf("what was pasted is gone: %q", evaluateValue(b, "#tasks"))
	}
}

// clear empties a field.
func (b *browser) clear(selector string) {
	b.Helper()
	evaluate[int](b, fmt.Sprintf(`document.querySelector(%q).value = "", 0`, selector))
}

// evaluateValue is what a field holds.
func evaluateValue(b *browser, selector string) string {
	b.Helper()
	return evaluate[string](b, fmt.Sprintf(`document.querySelector(%q).value`, selector))
}
