package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

const (
	agentEvery = 200 * time.Millisecond // the pause between two steps of an agent
	agentWork  = 600 * time.Millisecond // how long a task of the demo takes
	agentWaits = 5                      // seconds for something to happen, when there is nothing to do
)

// agent is a simulated member of a workspace: it claims what is ready, one task at a time, and helps with what is
// STUCK. It has nothing but /mcp and a token.
type agent struct {
	id, name  string
	api       string // the address
	token     string
	workspace string
	sleeps    bool          // abandons a task of the demo
	alone     bool          // takes no task over
	takes     time.Duration // how long a task takes

	session *mcp.ClientSession // nil: none yet, or the last one broke
	cursor  string             // position in the events
}

// foundTasks is the result of the tool tasks_find.
type foundTasks struct {
	Tasks []foundTask `json:"tasks"`
}

type foundTask struct {
	ID         string              `json:"id"`
	Status     lifecycle.TaskState `json:"status"`
	AssigneeID string              `json:"assignee_id"`
	Ready      bool                `json:"ready"`
	Others     foundWords          `json:"written_by_others"`
}

type foundWords struct {
	Title string `json:"title"`
}

// heardEvents is the result of the tool events_wait.
type heardEvents struct {
	Cursor string `json:"cursor"`
}

// refused is a call that a tool has refused.
type refused struct{ tool.Problem }

func (r *refused) Error() string { return string(r.Code) + ": " + r.Detail }

// work continues until ctx is done. It returns the first error that is not a normal conflict between agents.
func (a *agent) work(ctx context.Context) error {
	defer a.leave()
	for {
		err := a.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(agentEvery):
		}
	}
}

// passing reports whether another agent, or a deadline, was faster, or the API is briefly unavailable.
func passing(err error) bool {
	no, ok := errors.AsType[*refused](err)
	return !ok || slices.Contains([]fault.Code{
		fault.TaskAlreadyClaimed, fault.InvalidTransition, fault.UnresolvedBlockers, fault.CannotTakeover, fault.LeaseLost,
		fault.RateLimited, fault.StoreUnavailable, fault.TemporalUnavailable,
	}, no.Code)
}

// step reads all tasks and does the most urgent thing. With nothing to do it waits for something to happen.
func (a *agent) step(ctx context.Context) error {
	if a.cursor == "" {
		if err := a.listen(ctx, 0); err != nil {
			return err
		}
	}

	found, err := call[foundTasks](ctx, a, "tasks_find", map[string]any{"workspace_id": a.workspace, "limit": 100})
	if err != nil {
		return err
	}

	var mine, stuck, ready *foundTask
	for _, t := range found.Tasks {
		switch {
		case lifecycle.Task.Terminal(t.Status):
		case t.AssigneeID == a.id:
			mine = &t
		case t.Status == lifecycle.TaskStuck && !a.alone:
			stuck = &t
		case t.Ready:
			ready = &t
		}
	}

	switch {
	case mine != nil:
		return a.goOn(ctx, mine)
	case stuck != nil:
		return a.update(ctx, stuck, "takeover", "", "nobody seems to work on it")
	case ready != nil:
		_, err := call[any](ctx, a, "task_claim", map[string]any{"task_id": ready.ID, "comment": "I have time for this"})
		return err
	default:
		return a.listen(ctx, agentWaits)
	}
}

// goOn works on the agent's task. One agent abandons one task: it starts the task and does nothing more until another
// agent has taken it over.
func (a *agent) goOn(ctx context.Context, t *foundTask) error {
	if a.sleeps && t.Others.Title == sleepersTask && t.Status != lifecycle.TaskNew {
		return a.listen(ctx, agentWaits)
	}
	if t.Status != lifecycle.TaskInProgress {
		return a.update(ctx, t, "status", lifecycle.TaskInProgress, "I begin")
	}

	select {
	case <-ctx.Done():
		return nil
	case <-time.After(a.takes):
		return a.update(ctx, t, "status", lifecycle.TaskDone, "it is finished")
	}
}

func (a *agent) update(ctx context.Context, t *foundTask, action string, to lifecycle.TaskState, comment string) error {
	arguments := map[string]any{"task_id": t.ID, "action": action, "comment": comment}
	if to != "" {
		arguments["to"] = to
	}
	_, err := call[any](ctx, a, "task_update", arguments)
	return err
}

// listen waits until something happens to a task that the agent sees.
func (a *agent) listen(ctx context.Context, seconds int) error {
	arguments := map[string]any{"workload": lifecycle.WorkloadTask, "wait_seconds": seconds}
	if a.cursor != "" {
		arguments["after"] = a.cursor
	}
	heard, err := call[heardEvents](ctx, a, "events_wait", arguments)
	if err == nil {
		a.cursor = heard.Cursor
	}
	return err
}

// call calls a tool and decodes its result.
func call[T any](ctx context.Context, a *agent, name string, arguments map[string]any) (answer T, err error) {
	if a.session == nil {
		client := mcp.NewClient(&mcp.Implementation{Name: a.name, Version: "1"}, nil)
		a.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: a.api + tool.Path, HTTPClient: &http.Client{Transport: bearer(a.token)}, DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			return answer, err
		}
	}

	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.leave() // the next call opens another session
		return answer, err
	}
	if result.IsError {
		no := &refused{}
		return answer, errors.Join(again(result.Meta[tool.ProblemKey], &no.Problem), no)
	}
	return answer, again(result.StructuredContent, &answer)
}

// again converts a generic document.
func again(document, into any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (a *agent) leave() {
	if a.session != nil {
		_ = a.session.Close()
		a.session = nil
	}
}

// bearer adds a token to requests.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
