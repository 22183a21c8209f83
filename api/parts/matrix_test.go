package parts_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/race"
	"stagecoach/dev/testdb"
	"stagecoach/internal/store/account"
)

// unchanged runs requests, and fails the test if they change the record. The cached index of the storage's files does
// not count: a page that shows them refreshes it.
func (r *rig) unchanged(requests func()) {
	r.Helper()
	besides := append([]string{"files", "listings"}, testdb.Traces...)
	before := testdb.RecordOf(r, r.db, besides...)
	requests()
	if tables := before.Changed(testdb.RecordOf(r, r.db, besides...)); len(tables) > 0 {
		r.Errorf("who is refused has changed %v", tables)
	}
}

// fewOf returns the first pages of each route, and the site's own pages.
func (t tour) fewOf() []string {
	some := slices.Clone(paths)
	for _, route := range slices.Sorted(maps.Keys(t.pages)) {
		some = append(some, t.pages[route][:min(2, len(t.pages[route]))]...)
	}
	return slices.DeleteFunc(some, isOpen)
}

// TestMatrixOfEndedSessions opens each page and submits each form with sessions that have just ended in every possible
// way.
func TestMatrixOfEndedSessions(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	r := newRig(t)
	found := r.both()
	hers := r.hers()
	s := r.open(r.address)

	ended := map[string]*visitor{}
	end := func(how, statement string) {
		t.Helper()
		user := r.user(s, account.User{Name: "Ended", Role: account.RoleAdmin, Status: account.UserActive}, how)
		v := r.visit(r.url, how)
		if got := v.get("/account"); got.status != http.StatusOK {
			t.Fatalf("%s: a session that has not ended is answered with %d", how, got.status)
		}
		if statement == "" {
			v.post("/sign-out", map[string][]string{"all": {"yes"}})
		} else {
			r.exec(fmt.Sprintf(statement, user.ID))
		}
		ended[how] = v
	}
	end("a session that was ended", "")
	end("a session that has expired", `UPDATE sessions SET expires_at = now() WHERE user_id = %d`)
	end("a session of a revoked token", `UPDATE tokens SET revoked_at = now() WHERE user_id = %d`)
	end("a session of an expired token", `UPDATE tokens SET expires_at = now() WHERE user_id = %d`)
	end("a session of a blocked user", `UPDATE users SET status = 'BLOCKED' WHERE id = %d`)

	r.unchanged(func() {
		for how, v := range ended {
			status := http.StatusSeeOther
			if how == "a session of a blocked user" {
				status = http.StatusForbidden
			}
			for _, path := range found.fewOf() {
				v.learns(path, v.get(path), hers, status)
			}
			for _, one := range found.actions {
				v.learns("POST "+one.path, v.submit(one), hers, status)
			}
		}
	})
}

// TestMatrixOfFormsAndScopes submits each form with each single scope: at most one scope grants a form, and the others
// change nothing.
func TestMatrixOfFormsAndScopes(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	r := newRig(t)
	found, visitors := r.both(), r.scoped()
	opened := map[string][]account.Scope{}
	for _, route := range found.endingLast() {
		for _, scope := range account.Scopes { // the scope users is the last one
			got := visitors[scope].submit(found.actions[route])
			switch {
			case got.status == http.StatusSeeOther && got.to == "/sign-in":
				t.Logf("the form of %s: the session with the scope %s was ended by a form before", route, scope)
			case got.status != http.StatusForbidden:
				opened[route] = append(opened[route], scope)
			}
		}
		if len(opened[route]) > 1 {
			t.Errorf("the form of %s is open for each of the scopes %v alone", route, opened[route])
		}
	}
	if len(opened) < len(found.actions)/2 {
		t.Errorf("only %d forms of %d are open for a scope of their own", len(opened), len(found.actions))
	}

	r = newRig(t) // with nothing changed yet
	visitors = r.scoped()
	r.unchanged(func() {
		for route, one := range found.actions {
			for _, scope := range account.Scopes {
				if !slices.Contains(opened[route], scope) {
					if got := visitors[scope].submit(one); got.status != http.StatusForbidden {
						t.Errorf("POST %s with the scope %s alone is answered with %d", one.path, scope, got.status)
					}
				}
			}
		}
	})
}

// endingLast are the routes of all forms, those about users last: they end sessions.
func (t tour) endingLast() []string {
	routes := slices.Sorted(maps.Keys(t.actions))
	slices.SortStableFunc(routes, func(a, b string) int { return lateness(a) - lateness(b) })
	return routes
}

func lateness(route string) int {
	if strings.HasPrefix(route, "/operations/users") {
		return 1
	}
	return 0
}

// scoped are browsers signed in with one scope each: as Ada where a user may have it, otherwise as an administrator.
func (r *rig) scoped() map[account.Scope]*visitor {
	r.Helper()
	s, visitors := r.open(r.address), map[account.Scope]*visitor{}
	var root int64
	r.must(r.db.QueryRow(r.Context(), `SELECT id FROM users WHERE name = 'Root'`).Scan(&root))
	for _, scope := range account.Scopes {
		if !slices.Contains(account.ScopesOf(account.RoleUser), scope) {
			r.tokens[string(scope)] = account.NewToken()
			one := account.Token{UserID: root, Name: "one", Scopes: []account.Scope{scope}}
			_, err := s.Accounts.CreateToken(r.Context(), one, r.tokens[string(scope)])
			r.must(err)
		}
		visitors[scope] = r.visit(r.url, string(scope))
	}
	return visitors
}

// TestMatrixOfOthersForms has Bob submit each form that Ada finds, filled in as on her page: whatever the response,
// nothing of hers changes, and he learns nothing about it.
func TestMatrixOfOthersForms(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	r := newRig(t)
	found := r.tour("ada")
	hers, bob := r.hers(), r.visit(r.url, "bob")
	before := r.rowsOfAda()
	for _, one := range found.actions {
		got := bob.submit(one)
		bob.learns("POST "+one.path, got, hers, got.status)
		if now := r.rowsOfAda(); now != before {
			t.Errorf("Bob's POST %s with %v is answered with %d, and has changed what is Ada's",
				one.path, one.fields, got.status)
			before = now
		}
	}
}

// rowsOfAda is a checksum of everything that belongs to Ada.
func (r *rig) rowsOfAda() (sum string) {
	r.Helper()
	r.must(r.db.QueryRow(r.Context(), `SELECT concat_ws(' ',
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM jobs t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM workspaces t WHERE owner_id = $1),
		(SELECT md5(string_agg(m::text, '' ORDER BY m::text)) FROM workspace_members m
			JOIN workspaces w ON w.id = m.workspace_id WHERE w.owner_id = $1),
		(SELECT md5(string_agg(i::text, '' ORDER BY i.id)) FROM workspace_invitations i
			JOIN workspaces w ON w.id = i.workspace_id WHERE w.owner_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY t.id)) FROM tasks t
			JOIN workspaces w ON w.id = t.workspace_id WHERE w.owner_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM download_jobs t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM transactions t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM webhooks t WHERE user_id = $1),
		(SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM users t WHERE id = $1 OR owner_id = $1),
		(SELECT md5(string_agg((to_jsonb(t) - 'last_used_at')::text, '' ORDER BY id)) FROM tokens t
			WHERE user_id IN (SELECT id FROM users WHERE id = $1 OR owner_id = $1)),
		(SELECT count(*) FROM sessions WHERE user_id = $1))`, r.ada.ID).Scan(&sum))
	return sum
}
