package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// mostBytes limits the list of all tools: each client pays for it.
const mostBytes = 24_000

// list returns the tools that the agent sees, and the size of the list.
func (a agent) list() (tools []*mcp.Tool, size int) {
	a.t.Helper()
	result, err := a.ListTools(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if result.CacheScope != "private" {
		a.t.Errorf("the list may be cached for %q", result.CacheScope)
	}

	document, err := json.Marshal(result)
	if err != nil {
		a.t.Fatal(err)
	}
	return result.Tools, len(document)
}

func (a agent) names() (names []string) {
	a.t.Helper()
	tools, _ := a.list()
	for _, one := range tools {
		names = append(names, one.Name)
	}
	return names
}

// TestToolsAreAsWritten compares each tool with testdata/mcp, so that a change in what agents see is a change of a
// file. With STAGECOACH_WRITE=1 the test writes the files.
func TestToolsAreAsWritten(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	tools, size := w.agent(w.adminToken).list()
	if size > mostBytes {
		t.Errorf("the list of all tools has %d bytes, at most %d are allowed", size, mostBytes)
	}

	t.Logf("%d tools have %d bytes", len(tools), size)

	folder := filepath.Join("testdata", "mcp")
	written, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(written) != len(tools) {
		t.Errorf("%d files are for %d tools: %v", len(written), len(tools), err)
	}

	for _, one := range tools {
		var hints map[string]any
		document, err := json.MarshalIndent(one, "", "  ")
		if err != nil {
			t.Fatal(err)
		}

		raw, _ := json.Marshal(one.Annotations)
		_ = json.Unmarshal(raw, &hints)
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, set := hints[hint]; !set {
				t.Errorf("%s has no %s", one.Name, hint)
			}
		}

		if hints["readOnlyHint"] == true && hints["destructiveHint"] == true {
			t.Errorf("%s only reads and destroys", one.Name)
		}

		path := filepath.Join(folder, one.Name+".json")
		document = append(document, '\n')
		if os.Getenv("STAGECOACH_WRITE") == "1" {
			if err := os.WriteFile(path, document, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		if was, err := os.ReadFile(path); err != nil || !bytes.Equal(was, document) {
			t.Errorf("%s is not what %s has (%v); STAGECOACH_WRITE=1 writes it:\n%s", one.Name, path, err, document)
		}
	}
}

// usual are arguments with which each tool reaches the API.
func usual() map[string]map[string]any {
	hash := strings.Repeat("a", 64)
	return map[string]map[string]any{
		"status": {}, "events_wait": {"wait_seconds": 0}, "explain": {"workload": "task", "id": "1"},
		"cancel": {"workload": "delivery", "id": "1"}, "files_find": {}, "deliver": {"file_id": "1", "idempotency_key": "k"},
		"tasks_find": {}, "task_get": {"task_id": "1"},
		"task_create":    {"workspace_id": "1", "tasks": []any{map[string]any{"title": "A task"}}},
		"task_claim":     {"task_id": "1", "comment": "me"},
		"task_heartbeat": {"task_id": "1", "fencing_token": 1},
		"task_update":    {"task_id": "1", "action": "comment", "comment": "so"},
		"releases_find":  {"words": "wheels", "media_type": "text"},
		"books_find":     {}, "download": {"book_id": "1", "media_type": "text", "source_url": "magnet:?xt=urn:btih:" + strings.Repeat("b", 40)},
		"stars_quote": {}, "transactions_find": {}, "transaction_get": {"hash": hash}, "ledger": {},
	}
}

// opened are the tools that a token with one scope may use: for users, and additionally for administrators. status and
// explain are for every token.
var opened = map[account.Scope][2][]string{
	account.ScopeRead: {
		{"events_wait", "tasks_find", "task_get", "books_find", "releases_find", "stars_quote"}, {"transactions_find", "transaction_get"},
	},
	account.ScopeLibrary:    {{"books_find"}, nil},
	account.ScopeFiles:      {{"files_find"}, nil},
	lifecycle.DeliveryScope: {{"deliver", "cancel"}, nil},
	lifecycle.TaskScope:     {{"task_create", "task_claim", "task_heartbeat", "task_update"}, nil},
	lifecycle.DownloadScope: {{"download", "cancel"}, nil},
	account.ScopeOperate:    {nil, {"ledger"}},
}

// TestScopesDecideAboutTools calls every tool with a token of each scope: listed tools are allowed, and the rest is
// refused as the API's operations are.
func TestScopesDecideAboutTools(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.oneOfEverything()
	calls := usual()

	for _, who := range []account.User{w.ada, w.admin} {
		for _, scope := range account.Scopes {
			token, _ := w.token(who, scope)
			a := w.agent(token)
			want := append([]string{"status", "explain"}, opened[scope][0]...)
			if who.IsAdmin() {
				want = append(want, opened[scope][1]...)
			} else if !slices.Contains(account.ScopesOf(who.Role), scope) {
				want = want[:2]
			}

			listed := a.names()
			if got := slices.Sorted(slices.Values(listed)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("the scope %s of %s lists %v, want %v", scope, who.Role, got, want)
			}

			for _, name := range slices.Sorted(maps.Keys(calls)) {
				if name == "explain" && scope != account.ScopeRead {
					continue // the rules are for every token, a single entity is not
				}

				code := fault.Code("")
				if result := a.try(t.Context(), name, calls[name]); result.IsError {
					code = fault.Code(fmt.Sprint(plain(t, result.Meta[tool.ProblemKey])["code"]))
				}

				if name == "cancel" && scope == lifecycle.DownloadScope {
					continue // the usual call ends a delivery
				}

				closed := code == fault.InsufficientScope || code == fault.InsufficientAccess
				if closed == slices.Contains(want, name) {
					t.Errorf("%s with the scope %s of %s is answered with %q", name, scope, who.Role, code)
				}
				if code == fault.Internal || code == fault.Validation {
					t.Errorf("%s with the scope %s is answered with %s", name, scope, code)
				}
			}
		}
	}
}
