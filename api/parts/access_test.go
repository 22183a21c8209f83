package parts_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/words"
	"stagecoach/dev/night"
	"stagecoach/internal/store/account"
)

// TestEveryPageIsReached follows the links from the home page as a user and as an administrator: every page and form of
// the parts is found.
func TestEveryPageIsReached(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := r.both()
	pages, actions := routes()
	for _, route := range pages {
		if len(found.pages[route]) == 0 {
			t.Errorf("no page leads to GET %s: is there an entity for it in this test's record?", route)
		}
	}
	for _, route := range actions {
		if found.actions[route].path == "" {
			t.Errorf("no page has a form for POST %s: is there an entity in the state for it in this test's record?", route)
		}
	}
}

// TestEveryPageHasATitle reads each page and expects a title.
func TestEveryPageHasATitle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"ada", "admin"} {
		found := r.tour(name)
		for route, paths := range found.pages {
			if untitled.MatchString(found.texts[paths[0]]) {
				t.Errorf("%s: the page of %s has no title", name, route)
			}
		}
	}
}

var untitled = regexp.MustCompile(`<title>\W*(Stagecoach)?</title>|<h1[^>]*>\s*<`)

// TestOperatorsAreNamed opens a transaction on which an administrator has acted. A viewer who may not read users sees a
// number, and no request is refused.
func TestOperatorsAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var root int64
	r.must(r.db.QueryRow(t.Context(), `SELECT id FROM users WHERE name = 'Root'`).Scan(&root))
	r.tokens["reader"] = account.NewToken()
	one := account.Token{UserID: root, Name: "one", Scopes: []account.Scope{account.ScopeRead}}
	_, err := r.open(r.address).Accounts.CreateToken(t.Context(), one, r.tokens["reader"])
	r.must(err)

	for visitor, want := range map[string]string{"admin": "Root", "reader": words.Person.In(words.English, root)} {
		got := r.visit(r.url, visitor).get(fmt.Sprintf("/transactions/%s%056x", hashes, 9))
		if !strings.Contains(got.text, fmt.Sprintf(`<a href="/operations/users/%d">%s</a>`, root, want)) {
			t.Errorf("%s: the page does not name %q:\n%s", visitor, want, got.text)
		}
	}

	var refused int
	r.must(r.db.QueryRow(t.Context(), `SELECT count(*) FROM audit_log WHERE actor_id = $1`, root).Scan(&refused))
	if refused != 0 {
		t.Errorf("the audit log has %d entries", refused)
	}
}

// TestFiltersLeadToThemselves opens each filter in the tabs above lists: the resulting page marks that link as current,
// which proves that it understood the filter.
func TestFiltersLeadToThemselves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"ada", "admin"} {
		visitor, found := r.visit(r.url, name), r.tour(name)
		for route, paths := range found.pages {
			for _, line := range tabs.FindAllString(found.texts[paths[0]], -1) {
				for _, match := range linked.FindAllString(line, -1) {
					link := linksOf(paths[0], match)[0]
					if !strings.Contains(link, "?") {
						continue
					}
					text, seen := found.texts[link]
					if !seen {
						text = visitor.get(link).text
					}
					if !strings.Contains(text, match+" aria-current") {
						t.Errorf("%s: the page of %s does not show it as the present one", route, link)
					}
				}
			}
		}
	}
}

// tabs matches the tabs above lists.
var tabs = regexp.MustCompile(`(?s)<p class="tabs">.*?</p>`)

// both is what Ada and an administrator find.
func (r *rig) both() tour {
	r.Helper()
	ada, admin := r.tour("ada"), r.tour("admin")
	found := tour{pages: map[string][]string{}, actions: maps.Clone(admin.actions)}
	maps.Copy(found.actions, ada.actions)
	for _, one := range []tour{ada, admin} {
		for route, paths := range one.pages {
			found.pages[route] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(found.pages[route], paths))))
		}
	}
	return found
}

// hers are the pages of Ada's entities: those that Bob cannot open.
func (r *rig) hers() map[string]bool {
	r.Helper()
	found := r.both()
	tours.Lock()
	defer tours.Unlock()
	if tours.hers != nil {
		return tours.hers
	}

	bob, hers := r.visit(r.url, "bob"), map[string]bool{}
	for route, paths := range found.pages {
		for _, path := range paths {
			if strings.Contains(route, "{") && !adminsOnly(path) && (isOpen(path) || bob.get(path).status != http.StatusOK) {
				hers[path] = true
			}
		}
	}
	if len(hers) < mostOfAPage {
		r.Fatalf("only %d pages are Ada's", len(hers))
	}
	tours.hers = hers
	return hers
}

// learns checks that a response has one of these statuses, and shows nothing that the visitor may not see: words,
// hashes, or links to Ada's entities. hers is empty for Ada herself, and for administrators where they see everything.
func (v *visitor) learns(what string, got answer, hers map[string]bool, statuses ...int) {
	v.Helper()
	if !slices.Contains(statuses, got.status) {
		v.Errorf("%s: %s is answered with %d, want one of %v", v.name, what, got.status, statuses)
	}

	hidden := []string{forAdmins, ofAda, hashes}
	switch {
	case v.name == "admin" && hers == nil:
		return
	case v.name == "admin":
		hidden = hidden[1:]
	case hers == nil:
		hidden = hidden[:1]
	}

	path := what[strings.Index(what, "/"):] // the visitor knows what they asked for, and so the page of a form
	text := strings.NewReplacer(path, "", url.QueryEscape(path), "").Replace(got.text)
	if page := path[:strings.LastIndex(path, "/")]; page != "" {
		text = strings.ReplaceAll(text, page, "")
	}
	for _, word := range hidden {
		if at := strings.Index(text, word); at >= 0 {
			v.Errorf("%s: %s shows what is not theirs: …%s…", v.name, what, text[max(0, at-80):min(len(text), at+80)])
		}
	}
	for _, link := range linksOf("/", got.text) {
		if hers[link] {
			v.Errorf("%s: %s leads to %s, which is not theirs", v.name, what, link)
		}
	}
}

// ownersOnly reports whether a page is for its owner alone: even administrators cannot open it.
func ownersOnly(path string) bool { return strings.HasPrefix(path, "/webhooks/") }

// ofWebhooks reports whether a page or a form belongs to webhooks, which have their own scope.
func ofWebhooks(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return path == "/webhooks" || ownersOnly(path)
}

// TestWhoMayOpenPages opens each page as each role.
func TestWhoMayOpenPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := r.both()
	hers := r.hers()
	stranger, blocked, ada, bob, admin := r.visit(r.url, ""), r.visit(r.url, "blocked"), r.visit(r.url, "ada"), r.visit(r.url, "bob"), r.visit(r.url, "admin")
	r.exec(`UPDATE users SET status = 'BLOCKED' WHERE name LIKE 'Carol%'`)

	scoped := map[account.Scope]*visitor{}
	for _, scope := range account.ScopesOf(account.RoleUser) {
		scoped[scope] = r.visit(r.url, string(scope))
	}

	few := map[string]bool{} // which the gate opens with each scope
	for _, path := range found.fewOf() {
		few[path] = true
	}
	for _, path := range slices.Concat(append(slices.Collect(maps.Values(found.pages)), paths)...) {
		if isOpen(path) { // the URL is the secret: whoever has it may read the page
			for _, anybody := range []*visitor{stranger, blocked, bob} {
				if got := anybody.get(path); got.status != http.StatusOK || strings.Contains(got.text, forAdmins) {
					t.Errorf("%s: %s is answered with %d", anybody.name, path, got.status)
				}
			}
			continue
		}

		stranger.learns(path, stranger.get(path), hers, http.StatusSeeOther)
		blocked.learns(path, blocked.get(path), hers, http.StatusForbidden)
		if ownersOnly(path) {
			admin.learns(path, admin.get(path), hers, http.StatusNotFound)
		} else {
			admin.learns(path, admin.get(path), nil, http.StatusOK)
		}

		users := []int{http.StatusOK, http.StatusForbidden, http.StatusNotFound}
		if adminsOnly(path) {
			users = []int{http.StatusForbidden}
		}
		ada.learns(path, ada.get(path), nil, users...)
		bob.learns(path, bob.get(path), hers, users...)

		if !night.Enabled() && !few[path] {
			continue
		}
		for scope, visitor := range scoped {
			sees := hers
			if scope == account.ScopeRead || scope == account.ScopeWebhooks && ofWebhooks(path) {
				sees = nil
			}
			visitor.learns(path, visitor.get(path), sees, users...)
		}
	}
}

// TestWhoMayAct submits each form as each role, and from other origins. Only those who may can change anything.
func TestWhoMayAct(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := r.both()
	hers := r.hers()
	stranger, blocked, ada, bob, admin := r.visit(r.url, ""), r.visit(r.url, "blocked"), r.visit(r.url, "ada"), r.visit(r.url, "bob"), r.visit(r.url, "admin")
	read, none := r.visit(r.url, string(account.ScopeRead)), r.visit(r.url, string(account.ScopeFiles))
	hooks := r.visit(r.url, string(account.ScopeWebhooks))
	r.exec(`UPDATE users SET status = 'BLOCKED' WHERE name LIKE 'Carol%'`)

	before := r.written()
	for _, one := range found.actions {
		what := "POST " + one.path
		stranger.learns(what, stranger.submit(one), hers, http.StatusSeeOther)
		blocked.learns(what, blocked.submit(one), hers, http.StatusForbidden)
		none.learns(what, none.submit(one), hers, http.StatusForbidden)
		read.learns(what, read.submit(one), nil, http.StatusForbidden)
		if !ofWebhooks(one.path) {
			hooks.learns(what, hooks.submit(one), hers, http.StatusForbidden)
		}

		for _, visitor := range []*visitor{ada, admin} {
			for _, headers := range [][]string{
				{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"},
			} {
				visitor.learns("forged "+what, visitor.submit(one, headers...), nil, http.StatusForbidden)
			}
		}

		switch {
		case adminsOnly(one.path):
			bob.learns(what, bob.submit(one), hers, http.StatusForbidden)
		case within(one.path, hers):
			bob.learns(what, bob.submit(one), hers, http.StatusForbidden, http.StatusNotFound)
		}
	}
	if after := r.written(); after != before {
		t.Errorf("who may not act has changed the record:\n%s\n%s", before, after)
	}

	for _, one := range found.actions {
		for _, visitor := range []*visitor{ada, admin} {
			got := visitor.submit(one)
			t.Logf("%-6s POST %s from %s: %d", visitor.name, one.path, one.page, got.status)
			if got.status == http.StatusInternalServerError {
				t.Errorf("%s: POST %s (from %s, %v) is answered with %d", visitor.name, one.path, one.page, one.fields, got.status)
			}
		}
	}
}

// within reports whether a path is one of these pages, or below one.
func within(path string, pages map[string]bool) bool {
	for page := range pages {
		if path == page || strings.HasPrefix(path, page+"/") {
			return true
		}
	}
	return false
}

// submit sends a form.
func (v *visitor) submit(one form, headers ...string) answer {
	v.Helper()
	fields := url.Values{}
	maps.Copy(fields, one.fields)
	if fields.Has("key") { // a key belongs to one person and one request
		fields.Set("key", v.name+one.path)
	}
	return v.post(one.path, fields, headers...)
}

// written is what people have written: events, and the last changes of rows.
func (r *rig) written() (all string) {
	r.Helper()
	r.must(r.db.QueryRow(r.Context(), `SELECT concat_ws(' ',
		(SELECT count(*) FROM events), (SELECT max(updated_at) FROM jobs), (SELECT count(*) FROM jobs), (SELECT max(updated_at) FROM tasks),
		(SELECT count(*) FROM tasks), (SELECT count(*) FROM workspaces), (SELECT count(*) FROM workspace_members), (SELECT count(*) FROM workspace_invitations), (SELECT count(*) FROM books),
		(SELECT count(*) FROM download_jobs), (SELECT count(cancel_requested_at) FROM download_jobs), (SELECT max(updated_at) FROM transactions),
		(SELECT max(updated_at) FROM users), (SELECT count(*) FROM users), (SELECT count(*) FROM tokens WHERE revoked_at IS NULL),
		(SELECT string_agg(coalesce(since::text, '-'), ' ' ORDER BY name) FROM switches))`).Scan(&all))
	return all
}
