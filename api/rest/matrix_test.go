package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/race"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// cell is one operation of the API, as the document declares it, with a potentially valid request.
type cell struct {
	endpoint
	path    string // as in the document: "/v1/tasks/{id}"
	scope   account.Scope
	open    bool     // no token needed
	queries []object // its query parameters
	schema  object   // of its body; nil: none
}

// cells joins the document's operations with the requests of endpoints. An operation without a request fails the test.
func (w *rig) cells() (all []cell) {
	w.t.Helper()
	document := w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body
	paths := document["paths"].(object)
	for _, path := range sortedKeys(paths) {
		item := paths[path].(object)
		for _, method := range sortedKeys(item) {
			described, ok := item[method].(object)
			if !ok {
				continue
			}

			c := cellOf(described, path)
			found := slices.IndexFunc(endpoints(), func(e endpoint) bool { return e.id == described["operationId"] })
			switch {
			case found >= 0:
				c.endpoint = endpoints()[found]
			case c.open:
				c.endpoint = endpoint{id: described["operationId"].(string), method: strings.ToUpper(method), target: path}
			default:
				w.t.Errorf("%s %s has no request in endpoints", method, path)
				continue
			}
			all = append(all, c)
		}
	}
	return all
}

func cellOf(described object, path string) cell {
	c := cell{path: path}
	security := described["security"].([]any)
	c.open = len(security) == 0
	if !c.open {
		if scopes := security[0].(object)["bearer"].([]any); len(scopes) == 1 {
			c.scope = account.Scope(scopes[0].(string))
		}
	}
	for _, p := range at[[]any](described, "parameters") {
		if one := p.(object); one["in"] == "query" {
			c.queries = append(c.queries, one)
		}
	}
	if request, ok := described["requestBody"].(object); ok {
		for _, media := range request["content"].(object) {
			c.schema = at[object](media.(object), "schema")
		}
	}
	return c
}

// call sends a cell's request; only the beginning of an endless response is read.
func (w *rig) call(c cell, token, target string, body any) reply {
	w.t.Helper()
	headers := []string{"Idempotency-Key", c.id}
	if c.id != "stream-events" {
		return w.send(token, c.method, target, body, headers...)
	}
	return w.open(token, "")
}

// unchanged runs requests, and fails the test if they change the record or reach a workflow.
func (w *rig) unchanged(what string, requests func()) {
	w.t.Helper()
	before, reached := testdb.RecordOf(w.t, w.db, testdb.Traces...), w.temporal.reached()
	requests()
	if tables := before.Changed(testdb.RecordOf(w.t, w.db, testdb.Traces...)); len(tables) > 0 {
		w.t.Errorf("%s: who is refused has changed %v", what, tables)
	}
	if now := w.temporal.reached(); now != reached {
		w.t.Errorf("%s: who is refused has reached %d workflows", what, now-reached)
	}
}

// reached counts the workflows that were started or signaled.
func (s *temporalStub) reached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.started) + len(s.woken)
}

// TestMatrixOfScopes calls each operation with tokens of a user and of an administrator that have one scope each. Only
// the declared scope grants access.
func TestMatrixOfScopes(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	for _, who := range []account.User{w.ada, w.admin} {
		secrets := map[account.Scope]string{}
		for _, scope := range account.Scopes {
			secrets[scope], _ = w.token(who, scope)
		}
		for _, c := range w.cells() {
			if c.open {
				continue
			}
			if !ofAnyScope(c) && !slices.Contains(account.Scopes, c.scope) {
				t.Errorf("%s declares the scope %q", c.id, c.scope)
				continue
			}
			w.unchanged(c.id, func() { w.closed(c, who, secrets) })
		}
	}

	secrets := map[account.Scope]string{}
	for _, scope := range account.Scopes {
		secrets[scope], _ = w.token(w.admin, scope)
	}
	for _, c := range w.cells() { // last, because this changes the record
		if c.open || c.scope == "" {
			continue
		}
		got := w.call(c, secrets[c.scope], c.target, c.body)
		missing := fmt.Sprint(at[object](got.body, "details")["missing"])
		if got.status == http.StatusUnauthorized || strings.Contains(missing, string(c.scope)) {
			t.Errorf("%s with its scope %s is answered with %d %v", c.id, c.scope, got.status, got.body)
		}
	}
}

// TestALibraryTokenOpensBooksAlone calls each operation with a reading app's token: it may read books and revoke
// itself, nothing else.
func TestALibraryTokenOpensBooksAlone(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	for _, who := range []account.User{w.ada, w.admin} {
		secret, _ := w.token(who, account.ScopeLibrary)
		var opened []string
		w.unchanged("a token of a reading app", func() {
			for _, c := range w.cells() {
				if c.open || ofAnyScope(c) {
					continue
				}
				if got := w.call(c, secret, c.target, c.body); got.status != http.StatusForbidden {
					opened = append(opened, c.id)
				}
			}
		})
		slices.Sort(opened)
		if !slices.Equal(opened, []string{"get-book", "list-books"}) {
			t.Errorf("it opens %v", opened)
		}
	}
}

// TestMatrixOfEndingTokens revokes another token of the same user with each single scope: any token revokes itself, and
// only one that manages tokens revokes others.
func TestMatrixOfEndingTokens(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	_, other := w.token(w.admin, account.ScopeRead)
	secrets, ids := map[account.Scope]string{}, map[account.Scope]string{}
	for _, scope := range account.Scopes {
		secrets[scope], ids[scope] = w.token(w.admin, scope)
	}
	w.unchanged("revoke-token", func() {
		for _, scope := range account.Scopes {
			w.send(secrets[scope], "DELETE", "/v1/tokens/"+other, nil).refused(http.StatusForbidden, fault.InsufficientScope, "")
		}
	})
	for _, scope := range account.Scopes {
		w.send(secrets[scope], "DELETE", "/v1/tokens/"+ids[scope], nil).ok(http.StatusNoContent)
	}
}

// ofAnyScope reports whether an operation concerns the caller's own tokens, and checks scopes itself.
func ofAnyScope(c cell) bool {
	return c.id == "revoke-token"
}

// closed calls an operation with each scope that it does not declare.
func (w *rig) closed(c cell, who account.User, secrets map[account.Scope]string) {
	w.t.Helper()
	for _, scope := range slices.Sorted(maps.Keys(secrets)) {
		if c.scope == "" || c.scope.OpenedBy([]account.Scope{scope}) && (who.IsAdmin() || !c.admin) {
			continue
		}
		got := w.call(c, secrets[scope], c.target, c.body)
		if c.admin && !who.IsAdmin() {
			got.refused(http.StatusForbidden, fault.InsufficientAccess, "")
			continue
		}
		got.refused(http.StatusForbidden, fault.InsufficientScope, "")
		if missing := got.body["details"].(object)["missing"]; fmt.Sprint(missing) != fmt.Sprintf("[%s]", c.scope) {
			w.t.Errorf("%s with %s: missing %v, want %s", c.id, scope, missing, c.scope)
		}
	}
}
