package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/race"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// adasWord is in every text of Ada's that is private to her.
const adasWord = "zzada"

// estate is one of everything of Ada's: its id, keyed by what precedes the id in a path.
type estate map[string]string

// nobodys are ids that do not exist.
func (e estate) nobodys() estate {
	none := estate{}
	for kind, id := range e {
		none[kind] = strings.Repeat("9", len(id)+3)
		if len(id) == 64 {
			none[kind] = hashOf("nobody's")
		}
	}
	return none
}

// target fills in a cell's path. Each parameter needs an entity in the estate.
func (e estate) target(w *rig, c cell) (target string, named bool) {
	w.t.Helper()
	kind := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(c.path, "/v1/"), "/") {
		if !strings.HasPrefix(part, "{") {
			kind += "/" + part
			target += "/" + part
			continue
		}
		id := e[kind]
		if id == "" {
			w.t.Errorf("%s names a thing of the kind %q, of which this test has none", c.id, kind)
		}
		target, named = target+"/"+id, true
	}
	return "/v1" + target, named
}

// estate creates one of everything for Ada; neither Bob nor anybody else takes part in it.
func (w *rig) estate() estate {
	w.t.Helper()
	text := func(token, method, target string, body object, field string) string {
		w.t.Helper()
		return at[string](w.send(token, method, target, body).ok(http.StatusCreated).body, field)
	}

	e := estate{"/books/media": "text"}
	file := w.file("/shared", 10)
	e["file"] = fmt.Sprint(file.ID)
	e["/deliveries"] = at[string](w.deliver(w.adaToken, file, adasWord).ok(http.StatusCreated).body, "id")

	e["/workspaces"] = text(w.adaToken, "POST", "/v1/workspaces", object{"name": adasWord}, "id")
	carl, carlToken := w.user("Carl", 105, account.RoleUser, account.UserActive)
	e["/workspaces/members"] = fmt.Sprint(carl.ID)
	w.joins(e["/workspaces"], carl.ID, carlToken)
	e["/tasks"] = text(w.adaToken, "POST", "/v1/tasks", object{
		"workspace_id": e["/workspaces"], "title": adasWord, "description": adasWord, "labels": []string{adasWord},
	}, "id")

	e["/books"] = w.book("Wheels")
	e["/downloads"] = text(w.adaToken, "POST", "/v1/downloads", object{
		"book_id": e["/books"], "media_type": "text", "source_url": magnet + adasWord,
	}, "id")
	w.exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url, owner_id)
		VALUES ($1, 'text', 1, 'available', '/d/wheels', $2, $3)`, e["/books"], magnet+adasWord, w.ada.ID)

	e["/webhooks"] = at[string](w.hook(`{"address":"https://`+adasWord+`.example"}`), "id")
	e["/users"] = fmt.Sprint(w.ada.ID)
	_, e["/tokens"] = w.token(w.ada, account.ScopeRead)
	_, e["/users/tokens"] = w.token(w.ada, account.ScopeRead)
	e["/agents"], _ = w.agentOf(w.adaToken, "read", "tasks")
	e["/agents/tokens"] = text(w.adaToken, "POST", "/v1/agents/"+e["/agents"]+"/tokens", object{
		"name": adasWord, "scopes": []string{"read"},
	}, "id")
	w.exec(`UPDATE tokens SET name = $1 WHERE id IN ($2, $3)`, adasWord, e["/tokens"], e["/users/tokens"])

	b := w.bank()
	e["/transactions"] = b.failed("FRAGMENT_UNAVAILABLE", lifecycle.Retryable)
	w.exec(`UPDATE transactions SET user_id = $1, comment = $2, username = $2 WHERE hash = $3`,
		w.ada.ID, adasWord, e["/transactions"])
	return e
}

// shared reports whether an operation shows what everybody may see, whoever created it.
func shared(c cell) bool {
	return c.method == http.MethodGet && strings.HasPrefix(c.path, "/v1/books/")
}

// ownersAlone reports whether an operation is about what even administrators do not see.
func ownersAlone(c cell) bool {
	return strings.HasPrefix(c.path, "/v1/webhooks/") || strings.HasPrefix(c.path, "/v1/tokens/") && c.id != "list-token-descendants"
}

// TestMatrixOfOthersIDs calls each operation with ids of another person's entities. The response is the same as for
// unknown ids, and reveals nothing. Afterwards the owner's requests succeed.
func TestMatrixOfOthersIDs(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	hers := w.estate()
	none := hers.nobodys()
	_, agent := w.agentOf(w.bobToken, "read", "files", "deliveries", "downloads", "tasks", "webhooks")
	cells := w.cells()
	slices.SortStableFunc(cells, func(a, b cell) int { return lateness(a) - lateness(b) })

	for _, c := range cells {
		if c.open {
			continue
		}

		target, named := hers.target(w, c)
		callers := map[string]string{"another user": w.bobToken, "an agent of another user": agent}
		if ownersAlone(c) {
			callers["an administrator"] = w.adminToken
		}
		for who, token := range callers {
			switch {
			case c.id == "send-medium": // sends what belongs to everybody: see TestABookIsSentToTheChat
			case c.id == "change-book" || c.id == "delete-book": // everybody sees the book: see TestABookIsCorrected
				w.unchanged(c.id, func() {
					w.call(c, token, target, c.body).refused(http.StatusForbidden, fault.InsufficientAccess, "")
				})
			case named && shared(c):
				w.unchanged(c.id, func() { w.showsNothing(who, w.call(c, token, target, c.body).ok(http.StatusOK)) })
			case named:
				missing, _ := none.target(w, c)
				w.unchanged(c.id, func() {
					got := w.call(c, token, target, c.body)
					w.hidden(who, got, w.call(c, token, missing, c.body))
				})
			case c.method == http.MethodGet && !c.admin && c.id != "stream-events":
				w.showsNothing(who, w.call(c, token, c.target, nil))
			}
		}
	}

	for _, c := range cells {
		if c.open {
			continue
		}
		target, named := hers.target(w, c)
		if !named {
			continue
		}
		token := w.adaToken
		if c.admin {
			token = w.adminToken
		}

		missing, _ := none.target(w, c)
		nothing, got := w.call(c, token, missing, c.body), w.call(c, token, target, c.body)
		if got.status >= 400 && (got.body["code"] == nothing.body["code"] || wrong[got.status]) {
			t.Errorf("the owner's request sees nothing: %s is answered with %d %v", got.call, got.status, got.body)
		}
	}
}

// wrong are the statuses of a request that reaches no operation, or that fails.
var wrong = map[int]bool{
	http.StatusBadRequest: true, http.StatusUnauthorized: true, http.StatusNotFound: true,
	http.StatusUnprocessableEntity: true, http.StatusInternalServerError: true,
}

// lateness orders operations so that those that end things come after those that need them.
func lateness(c cell) int {
	switch {
	case c.id == "forget-user":
		return 1001
	case c.id == "renew-user-token":
		return 1000
	case c.method == http.MethodDelete: // children before their parent
		return 900 - len(c.path)
	case c.method == http.MethodGet:
		return 0
	}
	return 1
}

// hidden checks that the response about another's entity equals the one about an unknown entity.
func (w *rig) hidden(who string, got, nothing reply) {
	w.t.Helper()
	w.showsNothing(who, got)
	if got.status != http.StatusForbidden && got.status != http.StatusNotFound {
		w.t.Errorf("%s: %s is answered with %d %s", who, got.call, got.status, got.raw)
	}
	for _, field := range []string{"status", "code", "title", "detail", "details"} {
		if fmt.Sprint(got.body[field]) != fmt.Sprint(nothing.body[field]) {
			w.t.Errorf("%s: %s is answered with %s, and for nothing with %s", who, got.call, got.raw, nothing.raw)
			return
		}
	}
}

func (w *rig) showsNothing(who string, got reply) {
	w.t.Helper()
	if at := strings.Index(got.raw, adasWord); at >= 0 {
		w.t.Errorf("%s: %s shows what is Ada's: …%s…", who, got.call, got.raw[max(0, at-200):min(len(got.raw), at+50)])
	}
}

// reference is a query parameter, or a body field, that names an entity.
type reference struct {
	name string
	in   []string // the enclosing lists in the body
	list bool     // it is a list of such names
	of   string   // the query, or the body
}

// references finds what in a request names entities: texts that are ids, and the list of blockers.
func (w *rig) references(c cell) (found []reference) {
	w.t.Helper()
	for _, query := range c.queries {
		if isID(at[object](query, "schema")) {
			found = append(found, reference{name: query["name"].(string), of: "query"})
		}
	}
	return append(found, w.within(w.schema(c.schema), nil)...)
}

func (w *rig) within(schema object, in []string) (found []reference) {
	w.t.Helper()
	properties := at[object](schema, "properties")
	for _, name := range sortedKeys(properties) {
		property := w.schema(at[object](properties, name))
		items := w.schema(at[object](property, "items"))
		switch {
		case isID(property):
			found = append(found, reference{name: name, in: in, of: "body"})
		case name == "blocked_by", isID(items):
			found = append(found, reference{name: name, in: in, of: "body", list: true})
		case items != nil:
			found = append(found, w.within(items, append(slices.Clone(in), name))...)
		}
	}
	return found
}

func isID(schema object) bool {
	return strings.Contains(at[string](schema, "pattern"), "[1-9][0-9]{0,18}")
}

// schema resolves a reference into the document.
func (w *rig) schema(schema object) object {
	w.t.Helper()
	name, ok := strings.CutPrefix(at[string](schema, "$ref"), "#/components/schemas/")
	if !ok {
		return schema
	}
	if w.schemas == nil {
		document := w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body
		w.schemas = at[object](at[object](document, "components"), "schemas")
	}
	return w.schema(at[object](w.schemas, name))
}

// TestMatrixOfOthersIDsWithin sends Bob's requests about his own entities that name another person's entity in the
// query or the body.
func TestMatrixOfOthersIDsWithin(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	hers := w.estate()
	none := hers.nobodys()
	kinds := map[string]string{
		"workspace_id": "/workspaces", "assignee": "/users", "assignee_id": "/users", "blocked_by": "/tasks",
		"book_id": "", "file_id": "", // which everybody may name
	}
	made := w.send(w.bobToken, "POST", "/v1/workspaces", object{"name": "Bob's"}).ok(http.StatusCreated)
	own := at[string](made.body, "id")

	asked := 0
	for _, c := range w.cells() {
		for _, one := range w.references(c) {
			kind, known := kinds[one.name]
			if !known {
				t.Errorf("%s names a thing by %s: what would be another's?", c.id, one.name)
			}
			if kind == "" || c.open {
				continue
			}

			asked++
			w.unchanged(c.id+" "+one.name, func() {
				got, nothing := w.names(c, one, own, hers[kind]), w.names(c, one, own, none[kind])
				w.showsNothing("Bob", got)
				if c.method != http.MethodGet && got.status < 400 {
					t.Errorf("%s with another's %s is answered with %d %s", c.id, one.name, got.status, got.raw)
				}
				if got.status != nothing.status || got.body["code"] != nothing.body["code"] {
					t.Errorf("%s with another's %s is answered with %s, and with nobody's with %s",
						c.id, one.name, got.raw, nothing.raw)
				}
			})
		}
	}
	if asked < 8 {
		t.Errorf("only %d requests name another's things", asked)
	}
}

// names sends Bob's request, in his own workspace, with this id as one reference.
func (w *rig) names(c cell, one reference, own, id string) reply {
	w.t.Helper()
	if one.of == "query" {
		path, _, _ := strings.Cut(c.target, "?")
		return w.call(c, w.bobToken, path+"?"+one.name+"="+id, c.body)
	}

	body, _ := copyOf(c.body).(object)
	body["workspace_id"] = own
	inner := body
	for _, list := range one.in {
		inner = inner[list].([]any)[0].(object)
	}
	inner[one.name] = id
	if one.list {
		inner[one.name] = []any{id}
	}
	return w.call(c, w.bobToken, c.target, body)
}

// copyOf deep-copies a JSON value.
func copyOf(value any) any {
	switch v := value.(type) {
	case object:
		copied := object{}
		for name, inner := range v {
			copied[name] = copyOf(inner)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = copyOf(inner)
		}
		return copied
	}
	return value
}
