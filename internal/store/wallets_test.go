package store_test

import (
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/transaction"
)

// twoBanks are two wallets with one record, the second one with a name.
func twoBanks(t *testing.T) (one, two *bank) {
	t.Helper()
	one = newBank(t)
	two = one.rig.bank()
	two.must(two.NameWallet(t.Context(), two.wallet, "b"))
	return one, two
}

// TestWalletsHaveTheirOwnTurns signs a payment of each of two wallets at the same time.
func TestWalletsHaveTheirOwnTurns(t *testing.T) {
	t.Parallel()
	one, two := twoBanks(t)
	hash, other := one.ordered("ann", 3*coin), two.ordered("ann", 3*coin)
	first, second := one.signed(hash, transaction.Purchase), two.signed(other, transaction.Purchase)
	if first.State != transaction.PaymentSigned || second.State != transaction.PaymentSigned {
		t.Errorf("%+v, %+v", first, second)
	}
	if name := one.ok(one.SnapshotOfTransaction(t.Context(), hash)).Wallet; name != "" {
		t.Errorf("the first one's is %q", name)
	}
	if name := two.ok(two.SnapshotOfTransaction(t.Context(), other)).Wallet; name != "b" {
		t.Errorf("the second one's is %q", name)
	}
}

// TestWalletsStopAlone pauses and holds one of two wallets, and both.
func TestWalletsStopAlone(t *testing.T) {
	t.Parallel()
	one, two := twoBanks(t)
	ctx := t.Context()
	hash, other := one.ordered("ann", 3*coin), two.ordered("ann", 3*coin)
	one.enter(hash, transaction.Purchase)
	two.enter(other, transaction.Purchase)
	mayPay := func(b *bank, order string, want fault.Code) {
		t.Helper()
		b.must(b.ReturnTurn(ctx, order, transaction.Purchase))
		entry, err := b.GrantNext(ctx, b.wallet)
		b.must(err)
		if granted := entry != nil; granted != (want == "") {
			t.Errorf("it has the turn: %t", granted)
		}
	}

	one.must(one.Pause(ctx, two.wallet, nil, "it moves"))
	mayPay(one, hash, "")
	mayPay(two, other, fault.PaymentsPaused)
	_, on, err := one.PaymentState(ctx)
	one.must(err)
	if len(on) != 1 || on[0].Wallet != two.wallet || on[0].Reason != "it moves" {
		t.Errorf("%+v", on)
	}

	one.must(one.Pause(ctx, one.wallet, nil, ""))
	one.must(one.Resume(ctx, two.wallet))
	mayPay(one, hash, fault.PaymentsPaused)
	mayPay(two, other, "")
	one.must(one.Resume(ctx, one.wallet))
	one.must(one.Pause(ctx, two.wallet, nil, "it moves"))

	one.must(one.Pause(ctx, "", nil, "all"))
	one.must(one.Resume(ctx, two.wallet))
	mayPay(one, hash, fault.PaymentsPaused)
	mayPay(two, other, fault.PaymentsPaused)
	one.must(one.Resume(ctx, ""))

	one.must(one.Hold(ctx, one.wallet, "session_expired", time.Now().Add(time.Hour)))
	if held, err := one.AnyHeld(ctx); err != nil || !held {
		t.Errorf("%t, %v", held, err)
	}
	mayPay(one, hash, fault.PaymentsHeld)
	mayPay(two, other, "")
	two.signed(other, transaction.Purchase)

	one.must(one.Resume(ctx, one.wallet))
	if held, err := one.AnyHeld(ctx); err != nil || held {
		t.Errorf("%t, %v", held, err)
	}
	one.enter(hash, transaction.Purchase)
	one.signed(hash, transaction.Purchase)
}

// TestWalletsInUse lists the wallets that somebody follows: not the one that another has replaced, nor one that nobody
// has followed for a day while there are others.
func TestWalletsInUse(t *testing.T) {
	t.Parallel()
	one, two := twoBanks(t)
	ctx := t.Context()
	for _, sender := range []string{"ann", "bob"} {
		one.enter(one.ordered(sender, 3*coin), transaction.Purchase)
	}
	one.must(one.Pause(ctx, two.wallet, nil, ""))

	wallets, err := one.WalletsInUse(ctx)
	one.must(err)
	if len(wallets) != 2 || wallets[0].Address != one.wallet || wallets[0].Waiting != 2 || wallets[0].Stopped ||
		wallets[1].Address != two.wallet || wallets[1].Name != "b" || wallets[1].Waiting != 0 || !wallets[1].Stopped {
		t.Errorf("%+v", wallets)
	}

	state, _, err := one.PaymentState(ctx)
	one.must(err)
	if want := one.balanced()[transaction.AccountWallet] + two.balanced()[transaction.AccountWallet]; state.BalanceNano == nil || *state.BalanceNano != want {
		t.Errorf("%+v, want %d", state, want)
	}

	inUse := func() (addresses []string) {
		wallets, err := one.WalletsInUse(ctx)
		one.must(err)
		for _, w := range wallets {
			addresses = append(addresses, w.Address)
		}
		return addresses
	}

	heir := one.rig.bank() // with the first one's name
	if got := inUse(); !slices.Equal(got, []string{heir.wallet, two.wallet}) {
		t.Errorf("after another took the place: %v", got)
	}

	one.exec(`UPDATE ton_wallets SET updated_at = now() - interval '25 hours' WHERE address = $1`, two.wallet)
	if got := inUse(); !slices.Equal(got, []string{heir.wallet}) {
		t.Errorf("after one was left alone for a day: %v", got)
	}

	one.exec(`UPDATE ton_wallets SET updated_at = updated_at - interval '3 days'`)
	if got := inUse(); !slices.Equal(got, []string{heir.wallet}) {
		t.Errorf("while nobody works: %v", got)
	}
}
