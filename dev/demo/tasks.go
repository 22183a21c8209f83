package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

const (
	teamPatience = 2 * time.Minute // for the whole graph
	teamDeadline = 0.08            // minutes that the demo's tasks may be IN_PROGRESS

	sleepersTask = "Collect the test data"
)

// teamNames are the agents. The last one abandons the task that is assigned to her.
var teamNames = []string{"Agent Ada", "Agent Bo", "Agent Cleo"}

// team is the demo of tasks: three agents work on a small graph through the tools at /mcp. One agent abandons a task,
// which passes its deadline, and another agent takes it over. Graph and workspace are created with Idempotency-Keys, so
// that a later run finds them and continues what an earlier one left unfinished.
type team struct {
	stack *stack.Stack
	api   *client.Client // of the person who wants the work done
	admin *client.Client
	over  bool
	names map[string]string          // of the agents, by their ids
	shown map[string][]shape.History // by task id: the events that were printed
	crew  []*agent                   // that have done the work
}

func newTeam(s *stack.Stack) *team {
	return &team{
		stack: s, names: map[string]string{}, shown: map[string][]shape.History{},
		api:   &client.Client{Base: s.Info.API, Token: s.Info.UserToken},
		admin: &client.Client{Base: s.Info.API, Token: s.Info.AdminToken},
	}
}

// round implements demo. The first round shows everything.
func (d *team) round(ctx context.Context) ([]result, error) {
	if d.over {
		return nil, nil
	}

	d.over = true
	agents, err := d.hire(ctx)
	if err != nil {
		return nil, err
	}

	tasks, err := d.plan(ctx, agents)
	if err != nil {
		return nil, err
	}

	limited, stop := context.WithTimeout(ctx, teamPatience)
	defer stop()

	crew, work := errgroup.WithContext(limited)
	for _, a := range agents {
		a.workspace = tasks[0].WorkspaceID
		crew.Go(func() error { return a.work(work) })
	}

	last, err := d.watch(work, agents, tasks)
	stop()
	if broken := crew.Wait(); err == nil {
		err = broken
	}

	if err == nil {
		err = ctx.Err()
	}

	if err != nil {
		return nil, err
	}
	return d.results(last), nil
}

// hire creates the agents' users, or finds them, and gives each a token.
func (d *team) hire(ctx context.Context) ([]*agent, error) {
	known := map[string]string{}
	err := client.EachItem(ctx, d.admin, "/v1/users", url.Values{}, func(u shape.User) bool {
		known[u.Name] = u.ID
		return false
	})
	if err != nil {
		return nil, err
	}

	var agents []*agent
	for _, name := range teamNames {
		request := client.Call{Method: http.MethodPost, Path: "/v1/users", Body: map[string]string{"name": name}}
		if id := known[name]; id != "" {
			request = client.Call{Method: http.MethodPost, Path: "/v1/users/" + id + "/token"}
		}
		hired, err := client.Ask[shape.User](ctx, d.admin, request)
		if err != nil {
			return nil, err
		}
		agents = append(agents, &agent{id: hired.ID, name: name, api: d.api.Base, token: hired.Token, takes: agentWork})
	}

	d.crew = agents
	return agents, nil
}

// plan creates the workspace and the graph, or finds those of an earlier run.
func (d *team) plan(ctx context.Context, agents []*agent) ([]shape.Task, error) {
	space, err := client.Ask[shape.Workspace](ctx, d.api, keyed("/v1/workspaces", map[string]any{
		"name": "Demo", "status_deadlines": map[string]float64{"IN_PROGRESS": teamDeadline},
	}))
	if err != nil {
		return nil, err
	}

	for _, a := range agents {
		if err := join(ctx, d.api, "/v1/workspaces/"+space.ID, a); err != nil {
			return nil, err
		}
	}

	sleeper := agents[len(agents)-1]
	sleeper.sleeps = true
	made, err := client.Ask[shape.TaskBatch](ctx, d.api, keyed("/v1/tasks/batch", map[string]any{"workspace_id": space.ID, "tasks": []map[string]any{
		{"ref": "plan", "title": "Draw the plan", "priority": "high"},
		{"ref": "data", "title": sleepersTask, "assignee_id": sleeper.id},
		{"ref": "build", "title": "Build what is planned", "blocked_by": []string{"plan"}},
		{"ref": "test", "title": "Test it with the data", "blocked_by": []string{"build", "data"}},
		{"ref": "tell", "title": "Tell the world", "blocked_by": []string{"test"}, "priority": "low"},
	}}))

	var tasks []shape.Task
	for _, one := range made.Items {
		tasks = append(tasks, one.Task)
	}
	return tasks, err
}

// join invites an agent, which is a user of its own, to a user's workspace, and accepts for it.
func join(ctx context.Context, owner *client.Client, space string, a *agent) error {
	asked := client.Call{Method: http.MethodPut, Path: space + "/members/" + a.id}
	if _, _, err := owner.Send(ctx, asked); err != nil {
		return err
	}

	agent := &client.Client{Base: a.api, Token: a.token}
	_, _, err := agent.Send(ctx, client.Call{Method: http.MethodPost, Path: space + "/agree"})
	return err
}

// keyed is a request with an idempotency key that is derived from it: repeating it returns the first response.
func keyed(path string, body any) client.Call {
	text, _ := json.Marshal(body) // of plain maps
	sum := sha256.Sum256(text)
	return client.Call{
		Method: http.MethodPost, Path: path, Body: body, IdempotencyKey: "dev-" + hex.EncodeToString(sum[:16]),
	}
}

// watch prints what happens until all tasks have ended or ctx is done, and returns the tasks' final states.
func (d *team) watch(ctx context.Context, agents []*agent, tasks []shape.Task) ([]shape.Task, error) {
	for _, a := range agents {
		d.names[a.id] = a.name
	}

	for {
		over := true
		for i := range tasks {
			if err := d.look(ctx, &tasks[i]); err != nil && !client.Passing(err) && ctx.Err() == nil {
				return tasks, err
			}
			over = over && tasks[i].Ended()
		}

		if over {
			return tasks, nil
		}

		select {
		case <-ctx.Done():
			return tasks, nil // results reports the tasks that have not ended
		case <-time.After(agentEvery):
		}
	}
}

// look reads a task again and prints its new events.
func (d *team) look(ctx context.Context, t *shape.Task) error {
	now, err := client.Ask[shape.Task](ctx, d.api, client.Call{Method: http.MethodGet, Path: "/v1/tasks/" + t.ID})
	if err != nil {
		return err
	}

	events, err := client.Ask[shape.Page[shape.History]](
		ctx, d.api, client.Call{Method: http.MethodGet, Path: "/v1/tasks/" + t.ID + "/events"},
	)
	if err != nil {
		return err
	}

	for _, e := range events.Items[min(len(d.shown[t.ID]), len(events.Items)):] {
		if e.To != "" && !e.CreatedAt.Before(d.stack.Began) {
			d.stack.Screen.Say("  task %s  %-11s  %s", t.ID, e.To, terminal.Printable(t.Title)+d.whose(e))
		}
	}

	*t, d.shown[t.ID] = now, events.Items
	return nil
}

// whose names the agent of an event, or its deadline.
func (d *team) whose(e shape.History) string {
	if e.ActorID == nil {
		return ": its deadline has passed"
	}
	if name := d.names[*e.ActorID]; name != "" {
		return ", " + name
	}
	return ""
}

// results judges how the tasks ended: all DONE, one of them after it was taken over.
func (d *team) results(tasks []shape.Task) []result {
	var results []result
	for _, t := range tasks {
		r := result{
			job: "task " + t.ID, name: t.Title, state: string(t.Status), took: t.UpdatedAt.Sub(t.CreatedAt),
			workflow: t.WorkflowID, earlier: t.Ended() && shape.Value(t.FinishedAt).Before(d.stack.Began),
		}

		happened := func(what string) bool {
			return slices.ContainsFunc(d.shown[t.ID], func(e shape.History) bool { return e.Type == what })
		}

		switch {
		case t.Status != lifecycle.TaskDone:
			r.problem = "it is not DONE: see starter task events " + t.ID
		case t.Title == sleepersTask && !(happened("deadline_expired") && happened("taken_over")):
			r.problem = "it should have passed its deadline and been taken over"
		}

		results = append(results, r)
	}

	return results
}
