package store_test

import (
	"slices"
	"testing"

	"stagecoach/internal/store/account"
)

// granted is a record with people.
type granted struct {
	*rig
	people []account.User // each with a token; the first two are administrators
}

// newGranted makes the same record each time: a backup and its source.
func newGranted(t *testing.T, tokens []string) granted {
	g := granted{newRig(t), nil}
	for i, token := range tokens {
		role := account.RoleUser
		if i < 2 {
			role = account.RoleAdmin
		}
		chat := int64(500 + i)
		user, err := g.Accounts.CreateUser(
			t.Context(), account.User{TelegramID: &chat, Name: "Planted", Role: role, Status: account.UserActive}, token,
		)
		g.must(err)
		g.people = append(g.people, user)
	}
	return g
}

// access returns for each person what the record grants: the role, "blocked", "forgotten", and whether the token is
// valid.
func (g granted) access() (all []string) {
	g.t.Helper()
	for _, person := range g.people {
		now, err := g.Accounts.UserByID(g.t.Context(), person.ID)
		g.must(err)
		about := string(now.Role)
		if now.Status == account.UserBlocked {
			about = "blocked"
		}
		if now.ForgottenAt != nil && now.Name == "" {
			about = "forgotten"
		}
		tokens, err := g.Accounts.Tokens(g.t.Context(), person.ID, 0, 10)
		g.must(err)
		if len(tokens) > 0 {
			about += ", token"
		}
		all = append(all, about)
	}
	return all
}

// TestARestoreRevivesNothing revokes in a backup what the record revoked after it.
func TestARestoreRevivesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var tokens []string
	for range 6 {
		tokens = append(tokens, account.NewToken())
	}
	lost, restored := newGranted(t, tokens), newGranted(t, tokens)
	id := func(i int) int64 { return lost.people[i].ID }

	_, err := lost.Accounts.ChangeUser(ctx, id(1), account.UserChange{Role: account.RoleUser})
	lost.must(err)
	_, _, err = lost.Operations.Forget(ctx, id(2), id(0))
	lost.must(err)
	_, err = lost.Accounts.ChangeUser(ctx, id(3), account.UserChange{Status: account.UserBlocked})
	lost.must(err)
	listed, err := lost.Accounts.Tokens(ctx, id(4), 0, 10)
	lost.must(err)
	_, err = lost.Accounts.RevokeToken(ctx, id(4), listed[0].ID, id(0))
	lost.must(err)

	for range 2 { // the second time nothing changes
		later, err := lost.Operations.Access(ctx)
		restored.must(err)
		restored.must(restored.Operations.Withdraw(ctx, later))
		want := []string{"ADMIN, token", "USER, token", "forgotten", "blocked, token", "USER", "USER, token"}
		if got := restored.access(); !slices.Equal(got, want) {
			t.Errorf("after the restore: %q, want %q", got, want)
		}
	}
}

// TestWithoutTheLostDatabaseEverybodyIsSignedOut because it is unknown what was revoked.
func TestWithoutTheLostDatabaseEverybodyIsSignedOut(t *testing.T) {
	t.Parallel()
	g := newGranted(t, []string{account.NewToken(), account.NewToken()})
	if n, err := g.Operations.SignOutAll(t.Context()); err != nil || n != 2 {
		t.Errorf("%d tokens, %v", n, err)
	}
	if got := g.access(); !slices.Equal(got, []string{"ADMIN", "ADMIN"}) {
		t.Errorf("%q", got)
	}
}
