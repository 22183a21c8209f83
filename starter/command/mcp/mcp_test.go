package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"stagecoach/api/client"
)

// api answers messages as an API does, and remembers their headers.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	seen []http.Header
}

func newAPI(t *testing.T) *api {
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.seen = append(a.seen, r.Header)
	a.mu.Unlock()

	m, err := parse(body)
	switch {
	case err != nil:
		http.Error(w, "malformed payload", http.StatusBadRequest)
	case r.Header.Get("Authorization") != "Bearer right":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"code":"UNAUTHENTICATED","detail":"this token is not known"}`)
	case m.Method == "wait":
		<-r.Context().Done()
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, m.ID)
	default:
		fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\n\"id\":%s,\n\"result\":{\"method\":%q}}", m.ID, m.Method)
	}
}

// talk gives lines to a bridge and gives what it writes, sorted.
func talk(t *testing.T, c *client.Client, lines ...string) (answers []string, errs string) {
	t.Helper()
	var out, problems bytes.Buffer
	b := newBridge(c, &out, &problems)
	if err := b.run(t.Context(), strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is no message", line)
		}
		answers = append(answers, strings.TrimSpace(line))
	}

	slices.Sort(answers)
	return answers, problems.String()
}

func TestMessagesAreHandedOn(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := &client.Client{Base: a.URL, Token: "right"}
	got, errs := talk(t, c,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"two","method":"tools/list"}`,
		``,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status","_meta":{"`+versionKey+`":"2026-07-28"}}}`,
		`no message`,
	)

	want := []string{
		`{"error":{"code":-32700,"message":"this line is no message of the protocol"},"id":null,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":"two","result":{"method":"tools/list"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"method":"tools/call"}}`,
	}
	if !slices.Equal(got, want) || errs != "" {
		t.Errorf("the answers are\n%s\nwant\n%s\nand errors %q", strings.Join(got, "\n"), strings.Join(want, "\n"), errs)
	}

	versions := map[string]int{}
	for _, header := range a.seen {
		versions[header.Get("Mcp-Protocol-Version")+header.Get("Mcp-Method")+header.Get("Mcp-Name")]++
	}

	if versions[""] != 1 || versions["2025-06-18"] != 2 || versions["2026-07-28tools/callstatus"] != 1 {
		t.Errorf("the API saw %v", versions)
	}
}

func TestFailuresOnTheWay(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const ask = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, test := range map[string]struct {
		c    client.Client
		line string
		want string
	}{
		"a wrong token":       {client.Client{Base: a.URL, Token: "wrong"}, ask, "UNAUTHENTICATED: this token is not known"},
		"nobody there":        {client.Client{Base: "http://127.0.0.1:1", Token: "right"}, ask, "does not answer"},
		"too long a line":     {client.Client{Base: a.URL, Token: "right"}, `{"jsonrpc":"2.0","id":1,"x":"` + strings.Repeat("x", 2<<20) + `"}`, "no message"},
		"no such thing there": {client.Client{Base: a.URL + "/x", Token: "wrong"}, ask, "UNAUTHENTICATED"},
	} {
		got, _ := talk(t, &test.c, test.line)
		if len(got) != 1 || !strings.Contains(got[0], test.want) || !strings.Contains(got[0], `"error"`) {
			t.Errorf("%s: the answers are %.300q, want %q", name, got, test.want)
		}
	}

	var refusal *client.Refusal
	if err := newBridge(&client.Client{Base: a.URL, Token: "wrong"}, io.Discard, io.Discard).check(t.Context()); !errors.As(err, &refusal) {
		t.Errorf("a bridge with a wrong token begins with %v", err)
	}

	var away *client.Unreachable
	if err := newBridge(&client.Client{Base: "http://127.0.0.1:1"}, io.Discard, io.Discard).check(t.Context()); !errors.As(err, &away) {
		t.Errorf("a bridge to nobody begins with %v", err)
	}
	if err := newBridge(&client.Client{Base: a.URL, Token: "right"}, io.Discard, io.Discard).check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACancelledRequestIsLeft(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	in, writer := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	b := newBridge(&client.Client{Base: a.URL, Token: "right"}, &out, io.Discard)
	go func() { done <- b.run(t.Context(), in) }()

	fmt.Fprintln(writer, `{"jsonrpc":"2.0","id":7,"method":"wait"}`)
	for waits := false; !waits; {
		b.mu.Lock()
		waits = b.running["7"] != nil
		b.mu.Unlock()
	}

	fmt.Fprintln(writer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	fmt.Fprintln(writer, `{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	_ = writer.Close()
	if err := <-done; err != nil || strings.Contains(out.String(), `"id":7`) || !strings.Contains(out.String(), `"id":8`) {
		t.Errorf("%v, the answers are %s", err, out.String())
	}
}
