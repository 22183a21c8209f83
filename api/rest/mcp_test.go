package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/fault"
)

// withToken adds a token to each request.
type withToken string

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// agent is an MCP client.
type agent struct {
	*mcp.ClientSession
	t *testing.T
}

func (w *rig) agent(token string) agent { return w.agentWith(token, "") }

// agentWith speaks one version of the protocol; empty: the newest.
func (w *rig) agentWith(token, version string) agent {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.url + tool.Path, HTTPClient: &http.Client{Transport: withToken(token)},
		DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}

	w.t.Cleanup(func() { _ = session.Close() })
	return agent{session, w.t}
}

// call calls a tool that must succeed, and returns its result.
func (a agent) call(name string, arguments map[string]any) map[string]any {
	a.t.Helper()
	result := a.try(a.t.Context(), name, arguments)
	if result.IsError {
		a.t.Fatalf("%s is refused: %s", name, textOf(result))
	}
	return plain(a.t, result.StructuredContent)
}

// refused calls a tool that must refuse with a code, and returns the problem.
func (a agent) refused(name string, arguments map[string]any, code fault.Code) map[string]any {
	a.t.Helper()
	result := a.try(a.t.Context(), name, arguments)
	if !result.IsError {
		a.t.Fatalf("%s is not refused: %s", name, textOf(result))
	}

	problem := plain(a.t, result.Meta[tool.ProblemKey])
	if problem["code"] != string(code) || !strings.HasPrefix(textOf(result), string(code)+": ") {
		a.t.Fatalf("%s is refused with %v, want %s; the text is %s", name, problem, code, textOf(result))
	}
	return problem
}

func (a agent) try(ctx context.Context, name string, arguments map[string]any) *mcp.CallToolResult {
	a.t.Helper()
	result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	return result
}

func textOf(result *mcp.CallToolResult) string { return result.Content[0].(*mcp.TextContent).Text }

// plain converts a document to generic JSON.
func plain(t *testing.T, document any) (object map[string]any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// TestAgentWorksOffAGraph works through a graph with tools alone, in the protocol's newest version and in those that
// begin with a handshake.
func TestAgentWorksOffAGraph(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.workspace()
			ada, bob := w.agentWith(w.adaToken, version), w.agentWith(w.bobToken, version)

			places := ada.call("status", nil)["tasks"].(map[string]any)["workspaces"].([]any)
			workspace := places[0].(map[string]any)["id"]
			graph := map[string]any{"workspace_id": workspace, "idempotency_key": "graph", "tasks": []any{
				map[string]any{"ref": "first", "title": "The first thing"},
				map[string]any{"ref": "second", "title": "The second thing", "blocked_by": []any{"first"}},
			}}

			made := ada.call("task_create", graph)["tasks"].([]any)
			if again := ada.call("task_create", graph)["tasks"].([]any); fmt.Sprint(again) != fmt.Sprint(made) {
				t.Errorf("the same key made %v after %v", again, made)
			}

			first, second := made[0].(map[string]any)["id"], made[1].(map[string]any)["id"]

			cursor := bob.call("events_wait", map[string]any{"wait_seconds": 0})["cursor"]
			ready := bob.call("tasks_find", map[string]any{"ready": true})["tasks"].([]any)
			if len(ready) != 1 || ready[0].(map[string]any)["id"] != first {
				t.Fatalf("ready are %v", ready)
			}

			blocked := bob.refused("task_claim", map[string]any{"task_id": second, "comment": "me"}, fault.UnresolvedBlockers)
			if fmt.Sprint(blocked["details"]) != fmt.Sprint(map[string]any{"blockers": []any{first}}) {
				t.Errorf("the refusal names %v", blocked["details"])
			}

			bob.call("task_claim", map[string]any{"task_id": first, "comment": "I have time"})
			lost := ada.refused("task_claim", map[string]any{"task_id": first, "comment": "me"}, fault.TaskAlreadyClaimed)
			if !strings.Contains(fmt.Sprint(lost["allowed_instead"]), "escalate") {
				t.Errorf("a lost claim may be followed by %v", lost["allowed_instead"])
			}

			bob.call("task_update", map[string]any{"task_id": first, "action": "comment", "comment": "half of it is done"})
			done := bob.call("task_update", map[string]any{
				"task_id": first, "action": "status", "to": "DONE", "comment": "it works",
			})["task"].(map[string]any)
			if done["status"] != "DONE" {
				t.Errorf("the task is %v", done)
			}

			next := map[string]any{"workspace_id": workspace, "comment": "the next", "wait_seconds": 25, "idempotency_key": "next"}
			for range 2 { // the same key returns the same task
				if mine := bob.call("task_claim", next)["task"].(map[string]any); mine["id"] != second {
					t.Errorf("the next task is %v, want %v", mine, second)
				}
			}
			if none := ada.call("task_claim", map[string]any{"comment": "me too"}); len(none) != 0 {
				t.Errorf("where nothing is ready, a claim gives %v", none)
			}

			news := bob.call("events_wait", map[string]any{"after": cursor, "workload": "task"})
			if !strings.Contains(fmt.Sprint(news["events"]), "claimed") {
				t.Errorf("the events are %v", news)
			}

			whole := ada.call("task_get", map[string]any{"task_id": first})
			if events := whole["events"].([]any); len(events) != 4 {
				t.Errorf("task_get gives the events %v", events)
			}
		})
	}
}

// TestWhoMaySpeak checks who is served, and with which methods.
func TestWhoMaySpeak(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	post := func(token string, headers ...string) reply {
		return w.send(token, "POST", tool.Path, ping, append(headers, "Accept", "application/json, text/event-stream")...)
	}

	post(w.adaToken).ok(http.StatusOK)
	for name, token := range map[string]string{"nobody": "", "wrong": "sc_wrong"} {
		r := post(token).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
		if challenge := r.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") {
			t.Errorf("%s: the challenge is %q", name, challenge)
		}
	}

	post(w.pendingToken).refused(http.StatusForbidden, fault.UserNotActive, "")
	post(w.blockedToken).refused(http.StatusForbidden, fault.UserNotActive, "")

	for _, method := range []string{"GET", "DELETE"} {
		if r := w.send(w.adaToken, method, tool.Path, nil); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "POST" {
			t.Errorf("%s is answered with %d, Allow: %q", method, r.status, r.header.Get("Allow"))
		}
	}

	post(w.adaToken, "Origin", w.url).ok(http.StatusOK)
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1.evil.example", "%zz"} {
		if r := post(w.adaToken, "Origin", origin); r.status != http.StatusForbidden {
			t.Errorf("the origin %s is answered with %d", origin, r.status)
		}
	}

	if status := w.rebound(ping); status != http.StatusForbidden {
		t.Errorf("a site that has made its name one of this address is answered with %d", status)
	}
	if r := post(w.adaToken, "Sec-Fetch-Site", "cross-site"); r.status != http.StatusForbidden {
		t.Errorf("another origin's request is answered with %d", r.status)
	}

	large := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":%q}}}`, strings.Repeat("x", 1<<20),
	)

	w.send(w.adaToken, "POST", tool.Path, "["+ping+"]").refused(http.StatusUnprocessableEntity, fault.Validation, "")
	if r := w.send(w.adaToken, "POST", tool.Path, large); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered with %d", r.status)
	}
}

// rebound sends a message like a page whose host name resolves to this address (DNS rebinding).
func (w *rig) rebound(message string) (status int) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+tool.Path, strings.NewReader(message))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Host = "evil.example"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + w.adaToken, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Origin": "http://evil.example",
	} {
		r.Header.Set(name, value)
	}
	return w.do(r).status
}
