package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// signedIn reports whether a session's secret is known.
func (w *rig) signedIn(secret string) bool {
	w.t.Helper()
	_, _, err := w.Accounts.SessionOf(w.t.Context(), secret)
	if err != nil && fault.CodeOf(err) != fault.Unauthenticated {
		w.t.Fatal(err)
	}
	return err == nil
}

// signIn starts a session of a user by a link.
func (w *rig) signIn(user account.User, secret string) {
	w.t.Helper()
	w.must(w.Accounts.NewLink(w.t.Context(), user.ID, "link "+secret, account.Scopes, account.Maker{}))
	_, err := w.Accounts.SpendLink(w.t.Context(), "link "+secret, secret, time.Hour)
	w.must(err)
}

// TestALinkSignsInOnce spends links: once, not after another was made, and not after their expiry.
func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	anna := w.user(1)

	w.must(w.Accounts.NewLink(ctx, anna.ID, "first", []account.Scope{account.ScopeRead}, account.Maker{}))
	w.must(w.Accounts.NewLink(ctx, anna.ID, "second", []account.Scope{account.ScopeRead, account.ScopeFiles}, account.Maker{}))
	for _, link := range []string{"first", "unknown"} {
		if _, err := w.Accounts.SpendLink(ctx, link, "cookie", time.Hour); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", link, err)
		}
	}

	if user, err := w.Accounts.SpendLink(ctx, "second", "cookie", time.Hour); err != nil || user.ID != anna.ID {
		t.Fatalf("%+v, %v", user, err)
	}
	if _, err := w.Accounts.SpendLink(ctx, "second", "again", time.Hour); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("the second time: %v", err)
	}

	user, session, err := w.Accounts.SessionOf(ctx, "cookie")
	if err != nil || user.ID != anna.ID || len(session.Scopes) != 2 || session.TokenID != nil {
		t.Errorf("%+v, %+v, %v", user, session, err)
	}
	if left := time.Until(session.ExpiresAt); left < 50*time.Minute || left > time.Hour {
		t.Errorf("it lasts for %s", left)
	}

	w.must(w.Accounts.NewLink(ctx, anna.ID, "late", account.Scopes, account.Maker{}))
	w.exec(`UPDATE sign_in_links SET expires_at = now()`)
	if _, err := w.Accounts.SpendLink(ctx, "late", "x", time.Hour); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("too late: %v", err)
	}

	w.must(w.Accounts.NewLink(ctx, anna.ID, "blocked", account.Scopes, account.Maker{}))
	w.exec(`UPDATE users SET status = 'BLOCKED'`)
	if _, err := w.Accounts.SpendLink(ctx, "blocked", "x", time.Hour); fault.CodeOf(err) != fault.UserNotActive {
		t.Errorf("blocked: %v", err)
	}
}

// TestASessionEndsWithItsToken revokes and expires the tokens that signed in.
func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	anna := w.user(1)
	soon := time.Now().Add(10 * time.Minute)
	revoked, err := w.Accounts.CreateToken(ctx, account.Token{UserID: anna.ID, Name: "a", Scopes: account.Scopes}, "one")
	w.must(err)
	ends, err := w.Accounts.CreateToken(
		ctx, account.Token{UserID: anna.ID, Name: "b", Scopes: account.Scopes, ExpiresAt: &soon}, "two",
	)

	w.must(err)

	w.must(w.Accounts.StartSession(ctx, revoked, "by one", time.Hour))
	w.must(w.Accounts.StartSession(ctx, ends, "by two", time.Hour))
	if _, session, err := w.Accounts.SessionOf(ctx, "by two"); err != nil || session.ExpiresAt.After(soon.Add(time.Second)) {
		t.Errorf("%+v, %v", session, err)
	}

	holders, err := w.Accounts.Holders(ctx, []string{"by one", "one", "unknown"})
	if err != nil || len(holders) != 2 || holders["by one"].User.ID != anna.ID || holders["by one"].Token.ID != revoked.ID {
		t.Errorf("%+v, %v", holders, err)
	}

	w.must(w.Accounts.NewLink(ctx, anna.ID, "link", account.Scopes, account.Maker{TokenID: &revoked.ID}))
	_, err = w.Accounts.SpendLink(ctx, "link", "by the link of one", time.Hour)
	w.must(err)

	_, err = w.Accounts.RevokeToken(ctx, anna.ID, revoked.ID, anna.ID)
	w.must(err)
	if w.signedIn("by one") || w.signedIn("by the link of one") || !w.signedIn("by two") {
		t.Error("a session did not end with its token, or with another one")
	}
	if holders, err := w.Accounts.Holders(ctx, []string{"by one"}); err != nil || len(holders) != 0 {
		t.Errorf("%+v, %v", holders, err)
	}

	w.exec(`UPDATE tokens SET expires_at = now()`)
	if w.signedIn("by two") {
		t.Error("a session goes on after its token")
	}
}

// TestSessionsAreFewAndEnd signs in more often than a user may have sessions, and out.
func TestSessionsAreFewAndEnd(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	anna := w.user(1)
	bob := w.user(2)
	w.signIn(bob, "bob")
	secrets := []string{}
	for i := range 25 {
		secrets = append(secrets, "anna "+string(rune('a'+i)))
		w.signIn(anna, secrets[i])
	}

	sessions, err := w.Accounts.Sessions(ctx, anna.ID)
	if err != nil || len(sessions) != 20 || w.signedIn(secrets[4]) || !w.signedIn(secrets[5]) || !w.signedIn("bob") {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}

	_, last, err := w.Accounts.SessionOf(ctx, secrets[24])
	w.must(err)
	w.must(w.Accounts.EndSession(ctx, bob.ID, last.ID)) // not his
	w.must(w.Accounts.EndSession(ctx, anna.ID, sessions[0].ID))
	if !w.signedIn(secrets[24]) || w.signedIn(secrets[5]) {
		t.Error("another session has ended")
	}

	w.must(w.Accounts.EndSession(ctx, anna.ID, 0))
	if w.signedIn(secrets[24]) || !w.signedIn("bob") {
		t.Error("not all sessions of one user have ended, or somebody else's")
	}
}

// TestConfirming proves a person's identity again, by a session's code.
func TestConfirming(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	anna := w.user(1)
	bob := w.user(2)
	w.signIn(anna, "cookie")

	old := func() bool {
		t.Helper()
		_, session, err := w.Accounts.SessionOf(ctx, "cookie")
		w.must(err)
		return time.Since(session.ConfirmedAt) > time.Minute
	}

	_, session, err := w.Accounts.SessionOf(ctx, "cookie")
	w.must(err)
	w.exec(`UPDATE sessions SET confirmed_at = now() - interval '1 hour'`)
	code, err := w.Accounts.AskConfirmation(ctx, anna.ID, session.ID)
	if err != nil || len(code) != 6 {
		t.Fatalf("%q, %v", code, err)
	}
	if again, err := w.Accounts.AskConfirmation(ctx, anna.ID, session.ID); err != nil || again != code {
		t.Errorf("a page that is opened twice: %q, %v", again, err)
	}

	for _, wrong := range []error{w.Accounts.Confirm(ctx, bob.ID, code), w.Accounts.Confirm(ctx, anna.ID, ""), w.Accounts.Confirm(ctx, anna.ID, code+"0")} {
		if fault.CodeOf(wrong) != fault.Unauthenticated || !old() {
			t.Errorf("%v", wrong)
		}
	}

	w.must(w.Accounts.Confirm(ctx, anna.ID, code))
	if old() {
		t.Error("it is not confirmed")
	}
	if err := w.Accounts.Confirm(ctx, anna.ID, code); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("a code serves twice: %v", err)
	}

	w.exec(`UPDATE sessions SET confirmed_at = now() - interval '1 hour'`)
	code, err = w.Accounts.AskConfirmation(ctx, anna.ID, session.ID)
	w.must(err)
	w.exec(`UPDATE sessions SET confirm_until = now()`)
	if err := w.Accounts.Confirm(ctx, anna.ID, code); fault.CodeOf(err) != fault.Unauthenticated || !old() {
		t.Errorf("too late: %v", err)
	}

	w.must(w.Accounts.ConfirmSession(ctx, anna.ID, session.ID))
	if old() {
		t.Error("it is not confirmed by the token")
	}
}
