package store_test

import (
	"slices"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// admits reports whether a secret opens the API, and for whom.
func (w *rig) admits(secret string) (user int64, admitted bool) {
	w.t.Helper()
	found, _, err := w.Accounts.Authenticate(w.t.Context(), secret)
	if err != nil && fault.CodeOf(err) != fault.Unauthenticated {
		w.t.Fatal(err)
	}
	return found.ID, err == nil
}

// TestConfiguredTokenReplacesItsPredecessor through changes, a way back, a block and a person's revocation.
func TestConfiguredTokenReplacesItsPredecessor(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	want := func(open string, closed ...string) (user int64) {
		t.Helper()
		user, ok := w.admits(open)
		if !ok {
			t.Errorf("%s does not open", open)
		}

		for _, secret := range closed {
			if _, ok := w.admits(secret); ok {
				t.Errorf("%s still opens", secret)
			}
		}
		return user
	}

	w.must(w.Accounts.EnsureAdmins(ctx, "first", nil))
	admin := want("first", "second")
	w.must(w.Accounts.EnsureAdmins(ctx, "second", nil))
	if again := want("second", "first"); again != admin {
		t.Errorf("the token belongs to user %d, before to %d", again, admin)
	}

	w.must(w.Accounts.EnsureAdmins(ctx, "first", nil))
	want("first", "second")

	own := account.NewToken()
	_, err := w.Accounts.CreateToken(ctx, account.Token{UserID: admin, Name: "own", Scopes: account.Scopes}, own)
	w.must(err)
	w.must(w.Accounts.EnsureAdmins(ctx, "", nil))
	want(own, "first", "second")

	w.must(w.Accounts.EnsureAdmins(ctx, "third", nil))
	_, third, err := w.Accounts.Authenticate(ctx, "third")
	w.must(err)
	_, err = w.Accounts.RevokeToken(ctx, admin, third.ID, admin)
	w.must(err)
	w.must(w.Accounts.EnsureAdmins(ctx, "third", nil))
	want(own, "third")
}

// TestBlockedAdministratorsStayBlocked at a restart, whoever is configured.
func TestBlockedAdministratorsStayBlocked(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.Accounts.EnsureAdmins(ctx, "configured", []int64{1, 2}))
	blocked, err := w.Accounts.UserByTelegram(ctx, 1)
	w.must(err)
	configured, _, err := w.Accounts.Authenticate(ctx, "configured")
	w.must(err)
	for _, id := range []int64{blocked.ID, configured.ID} {
		_, err = w.Accounts.ChangeUser(ctx, id, account.UserChange{Status: account.UserBlocked})
		w.must(err)
	}

	w.must(w.Accounts.EnsureAdmins(ctx, "configured", []int64{1, 2}))
	w.must(w.Accounts.EnsureAdmins(ctx, "changed", []int64{1, 2}))
	for _, id := range []int64{blocked.ID, configured.ID} {
		if user, err := w.Accounts.UserByID(ctx, id); err != nil || user.Status != account.UserBlocked {
			t.Errorf("user %d is %s after a restart, %v", id, user.Status, err)
		}
	}

	if user, _, err := w.Accounts.Authenticate(ctx, "changed"); err != nil || user.ID != configured.ID {
		t.Errorf("the changed token belongs to user %d, %v", user.ID, err)
	}
}

// TestRotation with and without grace.
func TestRotation(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	token, err := w.Accounts.CreateToken(
		t.Context(), account.Token{UserID: user.ID, Name: "n", Scopes: []account.Scope{account.ScopeRead}}, "one",
	)

	w.must(err)
	_, err = w.Accounts.RotateToken(t.Context(), token, "two", time.Hour, account.Maker{})
	w.must(err)
	for secret, want := range map[string]bool{"one": true, "two": true} {
		if _, ok := w.admits(secret); ok != want {
			t.Errorf("%s opens: %v, want %v", secret, ok, want)
		}
	}

	_, err = w.Accounts.RotateToken(t.Context(), token, "three", 0, account.Maker{})
	w.must(err)
	for secret, want := range map[string]bool{"one": false, "two": false, "three": true} {
		if _, ok := w.admits(secret); ok != want {
			t.Errorf("%s opens: %v, want %v", secret, ok, want)
		}
	}
}

// TestWhatATokenMadeEndsNoLater gives tokens an earlier expiry: what they made expires then, too.
func TestWhatATokenMadeEndsNoLater(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	newToken := func(secret string, parent *int64) account.Token {
		made, err := w.Accounts.CreateToken(t.Context(), account.Token{
			UserID: user.ID, ParentID: parent, Name: secret, Scopes: []account.Scope{account.ScopeRead},
		}, secret)
		w.must(err)
		return made
	}

	first := newToken("first", nil)
	second := newToken("second", &first.ID)
	newToken("third", &second.ID)

	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	first.ExpiresAt = &soon
	_, err := w.Accounts.RotateToken(t.Context(), first, "rotated", 0, account.Maker{})
	w.must(err)
	for _, secret := range []string{"rotated", "second", "third"} {
		_, token, err := w.Accounts.Authenticate(t.Context(), secret)
		w.must(err)
		if token.ExpiresAt == nil || !token.ExpiresAt.Equal(soon) {
			t.Errorf("%s ends at %v, want %v", secret, token.ExpiresAt, soon)
		}
	}
}

// TestLastUseIsWrittenOnceAMinute counts the row's versions.
func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	made, err := w.Accounts.CreateToken(
		t.Context(), account.Token{UserID: user.ID, Name: "n", Scopes: []account.Scope{account.ScopeRead}}, "one",
	)

	w.must(err)
	version := func() (v string) {
		t.Helper()
		w.scan(`SELECT xmin::text FROM tokens WHERE id = $1`, &v, made.ID)
		return v
	}

	unused := version()
	w.admits("one")
	used := version()
	w.admits("one")
	if used == unused || version() != used {
		t.Errorf("versions %s, %s, %s: want a write at the first use only", unused, used, version())
	}

	w.exec(`UPDATE tokens SET last_used_at = now() - interval '61 seconds' WHERE id = $1`, made.ID)
	aged := version()
	w.admits("one")
	if version() == aged {
		t.Error("a use after more than a minute is not written")
	}

	w.exec(`UPDATE tokens SET expires_at = now() WHERE id = $1`, made.ID)
	if _, ok := w.admits("one"); ok {
		t.Error("a token opens past its end")
	}
}

// scan reads one value, bypassing the store.
func (w *rig) scan(sql string, into any, args ...any) {
	w.t.Helper()
	w.must(testdb.DB(w.t, w.url).QueryRow(w.t.Context(), sql, args...).Scan(into))
}

// TestFirstTokenWithScopes grants only these.
func TestFirstTokenWithScopes(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	secret := account.NewToken()
	made, err := w.Accounts.CreateUser(
		t.Context(), account.User{Name: "Ann", Status: account.UserActive}, secret, account.ScopeRead, lifecycle.TaskScope,
	)

	w.must(err)

	user, token, err := w.Accounts.Authenticate(t.Context(), secret)
	if err != nil || user.ID != made.ID || !slices.Equal(token.Scopes, []account.Scope{account.ScopeRead, lifecycle.TaskScope}) {
		t.Errorf("user %d with %v, %v", user.ID, token.Scopes, err)
	}
}
