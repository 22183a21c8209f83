package rest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/parts"
	"stagecoach/dev/race"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// idsOfTools says what the tools' arguments name; "" is something that everybody may name, or nothing.
var idsOfTools = map[string]string{
	"task_id": "/tasks", "workspace_id": "/workspaces", "hash": "/transactions",
	"assignee_id": "/users", "blocked_by": "/tasks",
	"file_id": "", "book_id": "", "idempotency_key": "",
}

// TestMatrixOfTools calls each tool with another person's ids, and with unknown ones: the result is the same, and
// nothing changes. The list of tools is an administrator's.
func TestMatrixOfTools(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	hers := w.estate()
	none := hers.nobodys()
	tools, _ := w.agent(w.adminToken).list()
	own := at[string](w.send(w.bobToken, "POST", "/v1/workspaces", object{"name": "Bob's"}).body, "id")
	_, secret := w.agentOf(w.bobToken, "read", "files", "deliveries", "downloads", "tasks")
	callers := map[string]agent{"another user": w.agent(w.bobToken), "an agent of another user": w.agent(secret)}

	var owners []func() // after the others, as they change the entities
	reached := map[string]bool{}
	for _, one := range tools {
		arguments, known := usual()[one.Name]
		if !known {
			t.Errorf("the tool %s has no arguments in usual", one.Name)
		}
		for _, call := range w.namings(one, arguments) {
			if _, seen := reached[one.Name]; !seen {
				reached[one.Name] = false
			}
			for _, who := range slices.Sorted(maps.Keys(callers)) {
				w.unchanged(one.Name, func() {
					got, shown := callers[who].answers(one.Name, call(hers, own))
					nothing, _ := callers[who].answers(one.Name, call(none, own))
					if strings.Contains(shown, adasWord) || got == "" && !one.Annotations.ReadOnlyHint || got != nothing {
						t.Errorf("%s: %s(%v) is answered with %q, and for nothing with %q:\n%s",
							who, one.Name, call(hers, own), got, nothing, shown)
					}
				})
			}

			owner := w.agent(w.adaToken)
			if administrators(one.Name) {
				owner = w.agent(w.adminToken)
			}
			owners = append(owners, func() {
				nothing, _ := owner.answers(one.Name, call(none, hers["/workspaces"]))
				got, _ := owner.answers(one.Name, call(hers, hers["/workspaces"]))
				reached[one.Name] = reached[one.Name] || got != nothing || got == ""
			})
		}
	}

	for _, call := range owners {
		call()
	}
	if len(reached) < 8 {
		t.Errorf("only the tools %v name things", reached)
	}
	for name, found := range reached {
		if !found {
			t.Errorf("%s finds nothing of its caller's, so that this test would see nothing", name)
		}
	}
}

// administrators reports whether a tool is for administrators.
func administrators(name string) bool {
	for _, part := range parts.MCP() {
		for _, one := range part.Tools {
			if one.Name == name {
				return one.Admins
			}
		}
	}
	return false
}

// naming returns a call's arguments that name one of these entities; own is a workspace of the caller's.
type naming func(things estate, own string) map[string]any

// namings are the ways in which a tool can name entities: each argument that is an id, and each workload's entity.
func (w *rig) namings(one *mcp.Tool, usual map[string]any) (all []naming) {
	w.t.Helper()
	properties := at[object](one.InputSchema.(object), "properties")
	with := func(name string, value func(estate) any) naming {
		return func(things estate, own string) map[string]any {
			arguments := maps.Clone(usual)
			if _, takes := arguments["workspace_id"]; takes {
				arguments["workspace_id"] = own
			}
			if name == "workspace_id" {
				delete(arguments, "task_id") // a tool takes one of the two
			}
			arguments[name] = value(things)
			return arguments
		}
	}

	for _, name := range sortedKeys(properties) {
		kind, known := idsOfTools[name]
		switch {
		case name == "id" && properties["workload"] != nil:
			for _, workload := range lifecycle.Names() {
				things := map[string]string{"delivery": "/deliveries", "download": "/downloads"}[workload]
				if things == "" {
					things = "/" + workload + "s"
				}
				all = append(all, func(of estate, _ string) map[string]any {
					return map[string]any{"workload": workload, "id": of[things]}
				})
			}
		case !known && (strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "hash") || name == "id"):
			w.t.Errorf("%s names a thing by %s: what would be another's?", one.Name, name)
		case kind != "" && name == "blocked_by":
			all = append(all, with(name, func(of estate) any { return []any{of[kind]} }))
		case kind != "":
			all = append(all, with(name, func(of estate) any { return of[kind] }))
		}
	}
	return all
}

// answers calls a tool, and returns the code of a refusal and everything shown.
func (a agent) answers(name string, arguments map[string]any) (code fault.Code, shown string) {
	a.t.Helper()
	result := a.try(a.t.Context(), name, arguments)
	if result.IsError {
		code = fault.Code(fmt.Sprint(plain(a.t, result.Meta[tool.ProblemKey])["code"]))
	}
	return code, fmt.Sprint(textOf(result), result.StructuredContent, result.Meta)
}
