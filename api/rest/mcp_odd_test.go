package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/rest"
	"stagecoach/dev/night"
	"stagecoach/internal/allowance"
)

// TestOddCalls calls the tools with odd arguments, and sends odd protocol messages. Nothing panics, no response is a
// 5xx or INTERNAL, and no frame breaks.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	calls := 300
	if night.Enabled() {
		calls = 1500
	}

	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	o := &oddCaller{rig: w, rand: rand.New(rand.NewPCG(1, 2))}
	tools, _ := w.agent(w.adminToken).list()
	schemas := make([]map[string]any, len(tools))
	for i, one := range tools {
		schemas[i] = plain(t, one.InputSchema)
	}

	for range calls {
		i := o.rand.IntN(len(tools))
		arguments := o.body(schemas[i], o.rand.IntN(3) > 0, o.rand.IntN(5) == 0)
		o.message(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tools[i].Name, arguments,
		), "")
	}

	for _, raw := range []string{
		``, ` `, `{}`, `[]`, `null`, `1`, `"x"`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "\xff\xfe", strings.Repeat("[", 20_000),
		strings.Repeat(`{"a":`, 20_000),
	} {
		for _, version := range []string{"", "2026-07-28", "2025-06-18", "1999-01-01", "x\ty"} {
			o.message(raw, version)
		}
	}

	if text := w.log.String(); strings.Contains(text, "panicked") || strings.Contains(text, "tool failed") {
		t.Errorf("the log has a panic or a failure:\n%s", lastOf(text, "panicked", "tool failed"))
	}
}

// lastOf returns the lines of a log with one of these words.
func lastOf(log string, words ...string) (lines string) {
	for line := range strings.Lines(log) {
		for _, word := range words {
			if strings.Contains(line, word) {
				lines += line
			}
		}
	}
	return lines
}

// message sends one raw message.
func (o *oddCaller) message(text, version string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	if strings.Contains(text, `"events_wait"`) || strings.Contains(text, `"wait_seconds"`) { // it may never come
		cancel()
		ctx, cancel = context.WithTimeout(o.t.Context(), 200*time.Millisecond)
	}
	defer cancel()

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+tool.Path, strings.NewReader(text))
	if err != nil {
		o.t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+o.adminToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		r.Header["Mcp-Protocol-Version"] = []string{version}
	}

	if strings.Contains(version, "\t") {
		r.Header["Mcp-Protocol-Version"] = []string{"x y"}
	}

	response, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Logf("%.200q: %v", text, err) // servers may hang up on large requests
		return
	}
	defer func() { _ = response.Body.Close() }()

	var body bytes.Buffer
	_, _ = body.ReadFrom(response.Body)
	if response.StatusCode >= 500 || strings.Contains(body.String(), `"INTERNAL"`) || strings.Contains(body.String(), "-32603") {
		o.t.Errorf("%.300s\nis answered with %d: %.500s", text, response.StatusCode, body.String())
	}
}

// TestACancelledCallEnds checks that a tool ends when its client disconnects, in every version of the protocol. The
// tool of this test would never end by itself.
func TestACancelledCallEnds(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var options rest.Options
			w := newRigWith(t, func(o *rest.Options) { options = *o })
			begun, ended, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
			defer close(over)
			hang := tool.New(tool.About{Name: "hang"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Answer[struct{}], error) {
				close(begun)
				select {
				case <-ctx.Done():
					close(ended)
				case <-over:
				}
				return tool.Answer[struct{}]{}, ctx.Err()
			})
			api := rest.New(options)
			tool.Register(api, tool.Part{Tools: []tool.Tool{hang}})
			served := httptest.NewServer(api)
			t.Cleanup(served.Close)
			other := *w
			other.url = served.URL

			ctx, cancel := context.WithCancel(t.Context())
			a := other.agentWith(w.adaToken, version)
			go func() { <-begun; cancel() }()
			if _, err := a.CallTool(ctx, &mcp.CallToolParams{Name: "hang"}); err == nil {
				t.Error("the cancelled call has an answer")
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("the tool goes on")
			}
		})
	}
}

// TestCallsAreCounted floods the tools as one user.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	w := newRigWith(t, func(o *rest.Options) { o.Requests = allowance.NewUsers(1) })
	a := w.agent(w.adaToken)
	for range 200 {
		if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "explain", Arguments: map[string]any{"workload": "task"}}); err != nil {
			return // 429, a transport error
		}
	}
	t.Error("200 calls got through at once where one a second may")
}
