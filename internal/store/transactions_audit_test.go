package store_test

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// TestDecisionsByHandAreAudited makes requests like the temporal program, by update and by signal, and like our own API
// and bot, which write their own rows.
func TestDecisionsByHandAreAudited(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	admin, err := b.Accounts.CreateUser(ctx, account.User{Name: "admin", Role: account.RoleAdmin, Status: account.UserActive}, "")
	b.must(err)
	hash := b.ordered("ann", 3*coin)
	keyed := core.Request{UserID: admin.ID, Key: "k"}

	for attempt, r := range []transaction.Request{
		{},                  // a signal
		{RequestID: "3f2c"}, // an update without an actor
		{RequestID: "7a9e1c1e-0b1f-4b7e-9a52-0d6f3c8f5a11", ActorID: &admin.ID}, // an update that names one
		{RequestID: core.Request{UserID: admin.ID, Key: "n"}.ID()},              // in our form, but by nobody
		{RequestID: keyed.ID(), ActorID: &admin.ID},                             // ours
		{RequestID: core.Request{}.ID(), ActorID: &admin.ID},                    // ours, without a key
	} {
		b.fail(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
		r.Hash, r.Attempt, r.Comment = hash, attempt+1, "again"
		b.ok(b.Transactions.Retry(ctx, r))
		if _, err := b.Transactions.Retry(ctx, r); r.RequestID == "" { // the activity may run again
			b.refused(err, fault.InvalidTransition) // it now refers to another attempt
		} else {
			b.must(err)
		}
	}

	b.ok(b.Transactions.Review(ctx, hash, 7, "m"))
	b.ok(b.Transactions.Resolve(
		ctx, transaction.Request{Hash: hash, Attempt: 7, Comment: "no"}, lifecycle.TransactionFailed, "m",
	))

	log, err := b.Accounts.AuditLog(ctx, 0, 100)
	b.must(err)
	var got []string
	for _, e := range slices.Backward(log) {
		actor := int64(0)
		if e.ActorID != nil {
			actor = *e.ActorID
		}
		got = append(got, fmt.Sprintf("%d %s %s %s", actor, e.Action, e.Outcome, e.Door))
		if e.Subject != "transaction/"+hash {
			t.Errorf("the subject is %s", e.Subject)
		}
	}

	want := []string{
		"0 retry-transaction done cli", "0 retry-transaction done cli",
		fmt.Sprintf("%d retry-transaction done cli", admin.ID),
		"0 retry-transaction done cli", "0 resolve-transaction done cli",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audited %q, want %q", got, want)
	}
}
