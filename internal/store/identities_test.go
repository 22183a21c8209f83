package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// TestTheGroupDecidesWhoIsAdministrator signs one person in, inside and outside the group, between manual decisions.
func TestTheGroupDecidesWhoIsAdministrator(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	_, err := w.Accounts.CreateUser(ctx, account.User{Role: account.RoleAdmin, Status: account.UserActive}, "")
	w.must(err)

	clara := account.Identity{Issuer: "https://provider.example", Subject: "clara"}
	user, created, err := w.Accounts.AddIdentity(ctx, clara, account.User{Name: "Clara"})
	w.must(err)
	if !created || user.Status != account.UserPending || user.Role != account.RoleUser {
		t.Fatalf("a newcomer is %+v, created %t", user, created)
	}

	byHand := func(c account.UserChange) {
		t.Helper()
		_, err := w.Accounts.ChangeUser(ctx, user.ID, c)
		w.must(err)
	}
	in, out := true, false
	for _, step := range []struct {
		what   string
		before account.UserChange
		member *bool
		code   fault.Code
		role   string
	}{
		{what: "no group decides", code: fault.UserNotActive, role: account.RoleUser},
		{what: "not in the group", member: &out, code: fault.UserNotActive, role: account.RoleUser},
		{what: "in the group", member: &in, role: account.RoleAdmin},
		{what: "left it", member: &out, role: account.RoleUser},
		{what: "in it again", member: &in, role: account.RoleAdmin},
		{what: "no group decides any more", role: account.RoleAdmin},
		{what: "made by hand meanwhile", before: account.UserChange{Role: account.RoleAdmin}, member: &out, role: account.RoleAdmin},
		{what: "unmade by hand", before: account.UserChange{Role: account.RoleUser}, member: &out, role: account.RoleUser},
		{what: "the group makes one again", member: &in, role: account.RoleAdmin},
		{what: "blocked", before: account.UserChange{Status: account.UserBlocked}, member: &in, code: fault.UserNotActive, role: account.RoleAdmin},
		{what: "blocked, and left it", member: &out, code: fault.UserNotActive, role: account.RoleAdmin},
		{what: "no longer blocked", before: account.UserChange{Status: account.UserActive}, member: &out, role: account.RoleUser},
	} {
		if step.before != (account.UserChange{}) {
			byHand(step.before)
		}
		clara.Admin = step.member
		if err := w.Accounts.SignInIdentity(ctx, clara, step.what, time.Hour); fault.CodeOf(err) != step.code {
			t.Errorf("%s: %v, want %q", step.what, err, step.code)
		}
		if w.signedIn(step.what) != (step.code == "") {
			t.Errorf("%s: signed in: %t", step.what, step.code != "")
		}
		got, err := w.Accounts.UserOfIdentity(ctx, clara)
		w.must(err)
		if got.ID != user.ID || got.Role != step.role {
			t.Errorf("%s: %+v, want the role %s", step.what, got, step.role)
		}
	}

	log, err := w.Accounts.AuditLog(ctx, 0, 10)
	w.must(err)
	if len(log) != 5 || log[0].Door != account.DoorSystem || log[0].Action != "change-user" {
		t.Errorf("the audit log has %+v", log)
	}
}

// TestTheLastAdministratorMayLeaveTheGroup and keeps the role.
func TestTheLastAdministratorMayLeaveTheGroup(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	in, out := true, false
	clara := account.Identity{Issuer: "https://provider.example", Subject: "clara", Admin: &in}
	_, _, err := w.Accounts.AddIdentity(t.Context(), clara, account.User{Name: "Clara"})
	w.must(err)
	w.must(w.Accounts.SignInIdentity(t.Context(), clara, "in", time.Hour))
	clara.Admin = &out
	w.must(w.Accounts.SignInIdentity(t.Context(), clara, "out", time.Hour))
	if user, err := w.Accounts.UserOfIdentity(t.Context(), clara); err != nil || !user.IsAdmin() {
		t.Errorf("%+v, %v", user, err)
	}
}

// TestIdentities belong to one user each: a Telegram account's to the bot's user, and a forgotten person's to nobody.
func TestIdentities(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	admin, err := w.Accounts.CreateUser(ctx, account.User{Role: account.RoleAdmin, Status: account.UserActive}, "")
	w.must(err)
	anna, telegram := w.user(7), int64(7)
	byTelegram := account.Identity{Issuer: "https://oauth.telegram.org", Subject: "opaque", TelegramID: &telegram}
	w.must(w.Accounts.SignInIdentity(ctx, byTelegram, "anna", time.Hour))
	if user, session, err := w.Accounts.SessionOf(ctx, "anna"); err != nil || user.ID != anna.ID || session.TokenID != nil {
		t.Errorf("%+v, %+v, %v", user, session, err)
	}

	one := account.Identity{Issuer: "https://a.example", Subject: "x"}
	other := account.Identity{Issuer: "https://b.example", Subject: "x"}
	ids := map[int64]bool{}
	for _, i := range []account.Identity{one, one, other} {
		user, _, err := w.Accounts.AddIdentity(ctx, i, account.User{Name: "X", Status: account.UserActive})
		w.must(err)
		ids[user.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("one subject at two issuers is %d users", len(ids))
	}

	w.must(w.Accounts.SignInIdentity(ctx, one, "x", time.Hour))
	user, err := w.Accounts.UserOfIdentity(ctx, one)
	w.must(err)
	_, _, err = w.Operations.Forget(ctx, user.ID, admin.ID)
	w.must(err)
	if w.signedIn("x") {
		t.Error("a forgotten person is signed in")
	}
	if _, err := w.Accounts.UserOfIdentity(ctx, one); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("the identity of a forgotten person: %v", err)
	}
}
