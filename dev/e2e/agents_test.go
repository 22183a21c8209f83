package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

// sharedGraph is the graph that an agent creates in TestLongAgentsShareAGraph: most tasks are blocked by others.
var sharedGraph = []map[string]any{
	{"ref": "plan", "title": "Draw the plan of the house"},
	{"ref": "walls", "title": "Build the walls", "blocked_by": []string{"plan"}},
	{"ref": "doors", "title": "Make the doors", "blocked_by": []string{"plan"}, "priority": "high"},
	{"ref": "windows", "title": "Make the windows", "blocked_by": []string{"plan"}},
	{"ref": "roof", "title": "Build the roof", "blocked_by": []string{"walls"}},
	{"ref": "key", "title": "Hand over the key", "blocked_by": []string{"roof", "doors", "windows"}},
}

// TestLongAgentsShareAGraph gives one owner's agents nothing but /mcp and a token each. One explores the service and
// creates a graph of tasks. Three work through it with leases while workers and the API are killed: the first agent
// dies while it holds a task, and another one rescues the task; the owner reviews each result, and rejects the first.
// Finally the record, the page, the bot and a webhook agree.
func TestLongAgentsShareAGraph(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_WEBHOOK_PRIVATE": "true"})
	s.startWorker()
	s.startAPI()
	id, token := s.apiUser("Ann", 501)
	ann := member{s, id, token}
	space := ann.workspace(map[string]any{"review_required": true})
	receiver := newWebhookReceiver(t)
	defer receiver.kill()
	s.call("POST", "/v1/webhooks", token, map[string]any{"address": receiver.address(), "workloads": []string{"task"}}).want(t, 201)

	tasks := ann.agent(space, "planner").plan()
	over := make(chan struct{})
	var all, disturbing sync.WaitGroup
	disturbing.Go(func() { receiver.disturb(over) })
	disturbing.Go(func() { s.killProcesses(over) })

	reviewer := &toolUser{rig: s, token: token}
	all.Go(func() { reviewer.review(tasks) })
	dead, deadToken := ann.agent(space, "dies with its task").die()
	for _, name := range []string{"first", "second", "third"} {
		worker := ann.agent(space, name)
		all.Go(func() { worker.workOff(tasks) })
	}
	all.Wait()
	close(over)
	disturbing.Wait()
	receiver.start()

	t.Logf("%d kills of processes, %d of the receiver", s.killed.Load(), receiver.kills.Load())
	if s.killed.Load() == 0 || receiver.kills.Load() == 0 {
		t.Error("nothing was disturbed")
	}
	dead.wantRefusal(fault.LeaseLost, "task_update", map[string]any{
		"task_id": dead.taken, "action": "status", "to": "DONE", "comment": "here I am again", "fencing_token": deadToken,
	})
	story := ann.story(tasks)
	if !slices.Contains(story[dead.taken], "lease_expired") || !slices.Contains(story[dead.taken], "taken_over") {
		t.Errorf("the task of the dead agent was not rescued: %v", story[dead.taken])
	}
	if rejected := slices.IndexFunc(tasks, func(id string) bool { return slices.Contains(story[id], "rejected") }); rejected < 0 {
		t.Error("no result was rejected")
	}

	defer func() {
		if t.Failed() {
			t.Logf("the webhook tells %v, the record %v", receiver.story(), story)
			t.Logf("of the webhook the API tells %v", s.call("GET", "/v1/webhooks", token, nil))
		}
	}()
	wait.Eventually(s, "the webhook has the same story", func() bool { return fmt.Sprint(receiver.story()) == fmt.Sprint(story) })
	ann.pagesTell(tasks, story)
	for _, task := range sharedGraph {
		s.says(501, task["title"].(string))
	}
}

// story reads what happened to each task, from the record through the API: each is DONE, and was approved.
func (m member) story(tasks []string) map[string][]string {
	m.Helper()
	story := map[string][]string{}
	for _, id := range tasks {
		if status := m.task(id)["status"]; status != "DONE" {
			m.Errorf("task %s is %s", id, status)
		}
		for _, item := range m.call("GET", "/v1/tasks/"+id+"/events?limit=200", m.token, nil).want(m, 200)["items"].([]any) {
			event := item.(map[string]any)
			story[id] = append(story[id], told(event))
		}
		if !slices.Contains(story[id], "approved") {
			m.Errorf("task %s was not approved: %v", id, story[id])
		}
	}
	return story
}

// told is one event in a story.
func told(event map[string]any) string {
	return event["type"].(string)
}

// pagesTell compares the history on each task's page with the story.
func (m member) pagesTell(tasks []string, story map[string][]string) {
	m.Helper()
	jar, err := cookiejar.New(nil)
	must(m, err)
	browser := &http.Client{Jar: jar}
	in, err := browser.PostForm(m.apiURL+"/sign-in", url.Values{"token": {m.token}})
	must(m, err)
	in.Body.Close()
	for _, id := range tasks {
		answer, err := browser.Get(m.apiURL + "/tasks/" + id)
		must(m, err)
		page, err := io.ReadAll(answer.Body)
		must(m, err)
		answer.Body.Close()
		_, history, _ := strings.Cut(string(page), "<h2>History</h2>")
		if got := strings.Count(history, `<span class="grow"><strong>`); got != len(story[id]) {
			m.Errorf("the page of task %s has %d events, want %d: %v", id, got, len(story[id]), story[id])
		}
	}
}

// toolUser uses the tools at /mcp with a token. Calls are repeated while processes are unavailable.
type toolUser struct {
	*rig
	token string
	taken string // id of the task in progress
}

// agent creates an agent of the member and adds it to a workspace.
func (m member) agent(space, name string) *toolUser {
	m.Helper()
	var made map[string]any
	wait.Eventually(m, "an agent", func() bool {
		answer := m.call("POST", "/v1/agents", m.token, map[string]any{"name": name, "scopes": []string{"read", "tasks"}})
		made = answer.body
		return answer.status == http.StatusCreated
	})
	wait.Eventually(m, "the agent is a member", func() bool {
		return m.call("PUT", fmt.Sprintf("/v1/workspaces/%s/members/%v", space, made["id"]), m.token, nil).status == http.StatusNoContent
	})
	return &toolUser{rig: m.rig, token: made["token"].(string)}
}

// plan explores the service, and creates the graph in the only workspace.
func (u *toolUser) plan() (tasks []string) {
	u.Helper()
	status := u.must("status", nil)
	space := find(status, "workspaces").([]any)[0].(map[string]any)["id"]
	if rules := u.must("explain", map[string]any{"workload": "task"}); !strings.Contains(fmt.Sprint(rules), "REVIEW_REQUIRED") {
		u.Errorf("the rules do not say that a review is required: %v", rules)
	}

	made := u.must("task_create", map[string]any{"workspace_id": space, "tasks": sharedGraph, "idempotency_key": "the-house"})
	for _, one := range made["tasks"].([]any) {
		tasks = append(tasks, one.(map[string]any)["id"].(string))
	}
	return tasks
}

// die claims a task with the shortest lease and is never heard from again.
func (u *toolUser) die() (dead *toolUser, token float64) {
	u.Helper()
	token = u.claim("dies")["fencing_token"].(float64)
	return u, token
}

// claim claims the next task; nil: none was ready for a while.
func (u *toolUser) claim(key string) map[string]any {
	answer := u.must("task_claim", map[string]any{
		"comment": "I have time", "lease_seconds": 60, "wait_seconds": 5, "idempotency_key": key,
	})
	task, _ := answer["task"].(map[string]any)
	if task != nil {
		u.taken = task["id"].(string)
	}
	return task
}

// workOff works through tasks one after the other, rescues STUCK ones, and returns when all are DONE.
func (u *toolUser) workOff(tasks []string) {
	for round := 0; !u.allDone(tasks) && u.Context().Err() == nil; round++ {
		key := fmt.Sprintf("%s-%d", u.token[3:9], round)
		if task := u.claim(key); task != nil {
			u.finish(task["fencing_token"])
			continue
		}
		for _, id := range tasks {
			u.rescue(id, key)
		}
	}
}

// rescue takes a STUCK task over and finishes it.
func (u *toolUser) rescue(id, key string) {
	if u.task(id)["status"] != "STUCK" {
		return
	}

	answer, refusal := u.call("task_update", map[string]any{
		"task_id": id, "action": "takeover", "comment": "its agent is gone", "lease_seconds": 60, "idempotency_key": key + "-rescue",
	})
	if refusal == "" { // otherwise another agent was faster
		u.taken = id
		u.finish(answer["task"].(map[string]any)["fencing_token"])
	}
}

// finish submits results until one is approved, with heartbeats, and makes the task DONE; it gives up when the claim
// has ended.
func (u *toolUser) finish(token any) {
	for try := 0; u.Context().Err() == nil; try++ {
		change := map[string]any{
			"task_id": u.taken, "comment": "as agreed", "fencing_token": token,
			"idempotency_key": fmt.Sprintf("%s-%.0f-%d", u.taken, token, try),
		}
		switch lastOf(u.task(u.taken), "claimed", "taken_over", "submitted", "approved", "rejected") {
		case "claimed", "taken_over", "rejected":
			change["action"], change["result"] = "submit", map[string]any{"try": try}
		case "approved":
			change["action"], change["to"] = "status", "DONE"
		case "submitted":
			delete(change, "comment")
			delete(change, "idempotency_key")
			if _, refusal := u.call("task_heartbeat", change); refusal != "" {
				return
			}
			time.Sleep(300 * time.Millisecond)
			continue
		}

		_, refusal := u.call("task_update", change)
		if refusal == fault.LeaseLost || refusal == "" && change["to"] == "DONE" {
			return
		}
	}
}

// review judges the results of all tasks until they are DONE: the first one is rejected, all others are approved.
func (u *toolUser) review(tasks []string) {
	for rejected := false; !u.allDone(tasks) && u.Context().Err() == nil; {
		u.must("events_wait", map[string]any{"wait_seconds": 1, "workload": "task"})
		for _, id := range tasks {
			task := u.task(id)
			if lastOf(task, "claimed", "taken_over", "submitted", "approved", "rejected") != "submitted" {
				continue
			}

			judgement := "approve"
			if !rejected {
				judgement = "reject"
			}
			_, refusal := u.call("task_update", map[string]any{
				"task_id": id, "action": judgement, "comment": "I have looked at it", "submission": task["submission"],
			})
			rejected = rejected || refusal == ""
		}
	}
}

// lastOf is the type of a task's last event among some types.
func lastOf(task map[string]any, types ...string) string {
	for _, event := range task["events"].([]any) { // newest first
		if kind := event.(map[string]any)["type"].(string); slices.Contains(types, kind) {
			return kind
		}
	}
	return ""
}

func (u *toolUser) task(id string) map[string]any {
	return u.must("task_get", map[string]any{"task_id": id})
}

func (u *toolUser) allDone(tasks []string) bool {
	return !slices.ContainsFunc(tasks, func(id string) bool { return u.task(id)["status"] != "DONE" })
}

// must is call for calls that are not refused.
func (u *toolUser) must(name string, arguments map[string]any) map[string]any {
	answer, refusal := u.call(name, arguments)
	if refusal != "" {
		u.Errorf("%s %v is refused: %s", name, arguments, refusal)
	}
	return answer
}

func (u *toolUser) wantRefusal(code fault.Code, name string, arguments map[string]any) {
	u.Helper()
	if answer, refusal := u.call(name, arguments); refusal != code {
		u.Errorf("%s is answered %v %s, want %s", name, answer, refusal, code)
	}
}

// call calls a tool, and retries while the API, or a dependency, is unavailable.
func (u *toolUser) call(name string, arguments map[string]any) (answer map[string]any, refusal fault.Code) {
	for u.Context().Err() == nil {
		result, err := u.try(name, arguments)
		switch {
		case err != nil: // the API is unavailable
		case !result.IsError:
			if err := again(result.StructuredContent, &answer); err != nil {
				u.Errorf("%s answers %v: %v", name, result.StructuredContent, err)
			}
			return answer, ""
		default:
			var problem tool.Problem
			if err := again(result.Meta[tool.ProblemKey], &problem); err != nil {
				u.Errorf("%s is refused without a problem: %v", name, result)
			}
			if !slices.Contains([]fault.Code{fault.TemporalUnavailable, fault.StoreUnavailable, fault.RateLimited}, problem.Code) {
				return nil, problem.Code
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	return map[string]any{}, fault.Internal
}

func (u *toolUser) try(name string, arguments map[string]any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(u.Context(), time.Minute)
	defer cancel()

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: u.apiURL + tool.Path, HTTPClient: &http.Client{Transport: bearer(u.token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()

	return session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
}

// again converts a generic document.
func again(document, into any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// find finds a field at any depth of a document.
func find(document any, field string) any {
	object, _ := document.(map[string]any)
	if value, there := object[field]; there {
		return value
	}
	for _, value := range object {
		if found := find(value, field); found != nil {
			return found
		}
	}
	return nil
}
