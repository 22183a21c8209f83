package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/transaction"
)

// TestWalletAfterItsKeyWasReplaced is the one followed last, with its balance.
func TestWalletAfterItsKeyWasReplaced(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	if _, err := w.Transactions.ActiveWallet(ctx); fault.CodeOf(err) != fault.WalletNotFound {
		t.Errorf("without a wallet: %v", err)
	}
	if state, on, err := w.Transactions.PaymentState(ctx); err != nil || state.BalanceNano != nil || state.ChainLag != nil || len(on) != 0 {
		t.Errorf("without a wallet: %+v, %+v, %v", state, on, err)
	}

	first := w.bank()
	first.deposit("ann", 3*coin)
	second := w.bank()
	second.deposit("ann", 5*coin)
	for _, b := range []*bank{second, first} {
		b.scan()
		if wallet, err := w.Transactions.ActiveWallet(ctx); err != nil || wallet.Address != b.wallet {
			t.Errorf("%+v, %v; want %s", wallet, err, b.wallet)
		}
		state, _, err := w.Transactions.PaymentState(ctx)
		if want := b.balanced()[transaction.AccountWallet]; err != nil || state.BalanceNano == nil || *state.BalanceNano != want {
			t.Errorf("%+v, %v; want %d", state, err, want)
		}
	}
}

// TestStopsOfPayments lists the switches that are on.
func TestStopsOfPayments(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	b.must(b.Transactions.Pause(ctx, nil, "it moves"))
	b.must(b.Transactions.Hold(ctx, "session_expired", ""))
	_, on, err := b.Transactions.PaymentState(ctx)
	b.must(err)
	if len(on) != 2 || on[0].Name != transaction.SwitchPause || on[0].Reason != "it moves" || on[1].Name != transaction.SwitchHold {
		t.Errorf("%+v", on)
	}

	b.must(b.Transactions.Resume(ctx))
	if _, on, err := b.Transactions.PaymentState(ctx); err != nil || len(on) != 0 {
		t.Errorf("%+v, %v", on, err)
	}
}
