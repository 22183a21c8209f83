package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/operations"
)

// TestRefusalsOfAMinuteAreOneEntry shows that refusals cannot fill the audit log, and that completed actions are all
// kept.
func TestRefusalsOfAMinuteAreOneEntry(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	one, other := w.user(1), w.user(2)
	note := func(user account.User, action, subject, outcome, door string) {
		t.Helper()
		w.must(w.Accounts.Audit(t.Context(), account.AuditEntry{
			ActorID: &user.ID, Action: action, Subject: subject, Outcome: outcome, Door: door,
		}))
	}
	entries := func() (rows []string) {
		t.Helper()
		all, err := w.Accounts.AuditLog(t.Context(), 0, 100)
		w.must(err)
		for _, e := range slices.Backward(all) {
			rows = append(rows, fmt.Sprintf("%d %s %s %s %s ×%d", *e.ActorID, e.Action, e.Subject, e.Outcome, e.Door, e.Count))
		}
		return rows
	}
	want := func(rows ...string) {
		t.Helper()
		if got := entries(); !slices.Equal(got, rows) {
			t.Errorf("%q, want %q", got, rows)
		}
	}

	if now := time.Now(); now.Second() > 50 { // all within one minute
		time.Sleep(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
	}
	for _, subject := range []string{"user/1", "user/1", "user/2"} {
		note(one, "get-user", subject, account.OutcomeRefused, account.DoorHTTP)
		note(one, "change-user", subject, account.OutcomeDone, account.DoorHTTP)
	}
	note(one, "get-user", "", account.OutcomeRefused, account.DoorBot)
	note(one, "list-users", "", account.OutcomeRefused, account.DoorHTTP)
	note(other, "get-user", "user/1", account.OutcomeRefused, account.DoorHTTP)
	done := []string{"1 change-user user/1 done http ×1", "1 change-user user/1 done http ×1", "1 change-user user/2 done http ×1"}
	refused := []string{
		"1 get-user user/1 refused http ×3", "1 get-user  refused bot ×1", "1 list-users  refused http ×1", "2 get-user user/1 refused http ×1",
	}
	want(slices.Concat(refused[:1], done, refused[1:])...)

	w.aged(40, "audit_log", "true", "created_at")
	note(one, "get-user", "user/9", account.OutcomeRefused, account.DoorHTTP)
	w.wantDeleted(w.deleteOld(operations.Retention{"refusals": 30}), map[string]int64{"refusals": 4})
	want(append(done, "1 get-user user/9 refused http ×1")...)
}
