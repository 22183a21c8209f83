package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// TestAgentsOfTheRecord makes agents of two owners, ends one, and blocks an owner.
func TestAgentsOfTheRecord(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, bob := w.user(1), w.user(2)
	w.SetQuotas(core.Quotas{account.AgentQuota.Name: 2})
	agent := func(owner account.User) (account.User, string) {
		secret := account.NewToken()
		made, err := w.Accounts.CreateAgent(
			t.Context(), owner.ID, "agent", account.Token{Name: "first", Scopes: []account.Scope{account.ScopeRead}}, secret,
		)
		w.must(err)
		return made, secret
	}

	first, secret := agent(ann)
	second, _ := agent(ann)
	if _, err := w.Accounts.CreateAgent(t.Context(), ann.ID, "third", account.Token{Name: "first"}, "s"); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("a third agent: %v", err)
	}
	if user, _, err := w.Accounts.Authenticate(t.Context(), secret); err != nil || user.ID != first.ID || *user.OwnerID != ann.ID || user.Status != account.UserActive {
		t.Errorf("%+v, %v", user, err)
	}

	_, err := w.Accounts.ChangeUser(t.Context(), ann.ID, account.UserChange{Status: account.UserBlocked})
	w.must(err)
	if user, _, err := w.Accounts.Authenticate(t.Context(), secret); err != nil || user.Status != account.UserBlocked {
		t.Errorf("while its owner is blocked: %+v, %v", user, err)
	}
	_, err = w.Accounts.ChangeUser(t.Context(), ann.ID, account.UserChange{Status: account.UserActive})
	w.must(err)

	if _, err := w.Accounts.AgentByID(t.Context(), bob.ID, first.ID); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("the agent of another user: %v", err)
	}
	if _, _, err := w.Accounts.EndAgent(t.Context(), bob.ID, ann.ID); fault.CodeOf(err) != fault.UserNotFound {
		t.Errorf("a person who is ended as an agent: %v", err)
	}
	for range 2 {
		ended, _, err := w.Accounts.EndAgent(t.Context(), first.ID, ann.ID)
		if err != nil || ended.Status != account.UserBlocked {
			t.Errorf("%+v, %v", ended, err)
		}
	}
	if _, _, err := w.Accounts.Authenticate(t.Context(), secret); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("with the token of an agent that has ended: %v", err)
	}

	agent(ann) // the ended one has made room
	agents, err := w.Accounts.Agents(t.Context(), ann.ID, first.ID, 10)
	if err != nil || len(agents) != 2 || agents[0].ID != second.ID {
		t.Errorf("%+v, %v", agents, err)
	}
}
