package store_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/transaction"
)

// exec changes the database in ways that no method of the store does.
func (w *rig) exec(sql string, args ...any) {
	w.t.Helper()
	w.must(w.tryExec(sql, args...))
}

func (w *rig) tryExec(sql string, args ...any) error {
	_, err := testdb.DB(w.t, w.url).Exec(w.t.Context(), sql, args...)
	return err
}

// TestWhatIsADeposit distinguishes customers' transfers from all other incoming ones.
func TestWhatIsADeposit(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.bought(b.ordered("first", 3*coin))
	transfer := func(change func(*transaction.ChainTransaction)) transaction.ChainTransaction {
		made := transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{Source: address("ann"), Nano: coin},
			Deposit: true, Comment: "durov",
		}
		change(&made)
		return made
	}

	for name, c := range map[string]struct {
		change func(*transaction.ChainTransaction)
		is     bool
	}{
		"a transfer":             {func(*transaction.ChainTransaction) {}, true},
		"no comment":             {func(t *transaction.ChainTransaction) { t.Comment = "" }, true},
		"bad text":               {func(t *transaction.ChainTransaction) { t.Comment = "a\x00b\xff" }, true},
		"too small, or a jetton": {func(t *transaction.ChainTransaction) { t.Deposit = false }, false},
		"bounced":                {func(t *transaction.ChainTransaction) { t.In.Bounced = true }, false},
		"no contract yet":        {func(t *transaction.ChainTransaction) { t.Aborted, t.ComputeOK, t.ActionOK = true, false, false }, true},
		"aborted": {func(t *transaction.ChainTransaction) {
			t.Aborted, t.Out = true, []transaction.OutMessage{{Destination: address("ann"), Nano: coin - fee}}
		}, false},
		"no money":                {func(t *transaction.ChainTransaction) { t.In.Nano = 0 }, false},
		"from the wallet itself":  {func(t *transaction.ChainTransaction) { t.In.Source = b.wallet }, false},
		"from where we buy Stars": {func(t *transaction.ChainTransaction) { t.In.Source = shop }, false},
		"from outside":            {func(t *transaction.ChainTransaction) { t.In = transaction.InMessage{HashNorm: digest(1)} }, false},
		"money out by another hand": {func(t *transaction.ChainTransaction) {
			t.In, t.Out = transaction.InMessage{HashNorm: digest(2)}, []transaction.OutMessage{{Destination: address("x"), Nano: coin / 10}}
		}, false},
	} {
		made := b.happens(transfer(c.change))
		if brought := b.scan(); slices.Contains(brought.NewDeposits, made.Hash) != c.is || brought.Written != 1 {
			t.Errorf("%s: %+v", name, brought)
		}
		if c.is && !utf8.ValidString(b.tx(made.Hash).Comment) {
			t.Errorf("%s: %q", name, b.tx(made.Hash).Comment)
		}
		if money := b.balanced(); money[transaction.AccountWallet] != b.balance {
			t.Errorf("%s: %v, and the chain says %d", name, money, b.balance)
		}
	}
}

// TestGaps offers pages with something missing, duplicated or changed; refused ones leave nothing.
func TestGaps(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	ingest := func(page []transaction.ChainTransaction) (transaction.Ingested, error) {
		return b.Transactions.IngestChain(ctx, b.wallet, page, time.Time{})
	}

	for range 9 {
		b.incoming(address("ann"), coin, true)
	}

	_, err := ingest(b.history[1:3])
	b.refused(err, fault.ChainGap)
	_, err = ingest(slices.Concat(b.history[:2], b.history[3:5]))
	b.refused(err, fault.ChainGap)
	_, err = ingest([]transaction.ChainTransaction{b.history[1], b.history[0]})
	b.refused(err, fault.ChainGap)
	if rows, err := b.Transactions.List(ctx, transaction.Filter{Limit: 10}); err != nil || len(rows) != 0 {
		t.Errorf("left of what was refused: %+v, %v", rows, err)
	}

	for _, page := range [][2]int{{0, 3}, {0, 3}, {1, 2}, {2, 5}, {4, 7}, {0, 7}} {
		if _, err := ingest(b.history[page[0]:page[1]]); err != nil {
			t.Errorf("%v: %v", page, err)
		}
	}

	other := slices.Clone(b.history)
	other[3].Hash = digest("another one")
	_, err = ingest(other[2:])
	b.refused(err, fault.ChainGap)
	other = slices.Clone(b.history)
	other[6].Hash = digest("another one") // at the cursor itself
	_, err = ingest(other[6:7])
	b.refused(err, fault.ChainGap)
	other[7].PrevHash = digest("another one")
	_, err = ingest(other[7:])
	b.refused(err, fault.ChainGap)
	other[3].LT++ // between two known ones
	_, err = ingest(other[3:4])
	b.refused(err, fault.ChainGap)
	if brought, err := ingest(b.history); err != nil || brought.Written != 2 {
		t.Errorf("%+v, %v", brought, err)
	}

	_, err = b.Transactions.IngestChain(ctx, address("unknown"), b.history, time.Time{})
	b.refused(err, fault.WalletNotFound)
	b.balanced()
}

// TestIngestRace reads the same history concurrently, in pages of all sizes.
func TestIngestRace(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("first", 3*coin)
	payment := b.signed(hash, transaction.Purchase)
	for range 10 {
		b.incoming(address("ann"), coin, true)
	}

	b.accept(payment)
	for range 10 {
		b.incoming(address("bob"), coin, true)
	}

	var deposits, settled atomic.Int64
	var all sync.WaitGroup
	for reader := range 6 {
		all.Go(func() {
			for from := 0; from < len(b.history); {
				to := min(len(b.history), from+1+reader)
				brought, err := b.Transactions.IngestChain(t.Context(), b.wallet, b.history[max(0, from-1):to], time.Time{})
				if err != nil {
					t.Error(err)
					return
				}
				deposits.Add(int64(len(brought.NewDeposits)))
				settled.Add(int64(len(brought.Settled)))
				from = to
			}
		})
	}

	all.Wait()
	if deposits.Load() != 20 || settled.Load() != 1 {
		t.Errorf("%d deposits, %d settled", deposits.Load(), settled.Load())
	}
	if got := b.balanced(); got[transaction.AccountWallet] != b.balance {
		t.Errorf("%v", got)
	}
}

// TestHeadNeverGoesBack receives an older head after a newer one.
func TestHeadNeverGoesBack(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.scan()
	for _, head := range []time.Time{b.now.Add(-time.Hour), {}} {
		_, err := b.Transactions.IngestChain(t.Context(), b.wallet, nil, head)
		b.must(err)
	}
	if wallet, err := b.Transactions.WalletByAddress(t.Context(), b.wallet); err != nil || !wallet.ScannedTo.Equal(b.now) {
		t.Errorf("%+v, %v", wallet, err)
	}
}

// TestRecordBeginsLater opens a wallet with a past.
func TestRecordBeginsLater(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	b := &bank{w, &chain{wallet: address("old wallet"), now: time.Now().Truncate(time.Second)}}
	for range 3 {
		b.incoming(address("ann"), coin, true)
	}

	last := b.history[2]
	for range 2 {
		wallet, err := b.Transactions.OpenWallet(ctx, b.wallet, transaction.WalletStart{LT: last.LT, Hash: last.Hash, BalanceNano: b.balance})
		if err != nil || wallet.CursorLT != last.LT || wallet.ScannedTo != nil {
			t.Errorf("%+v, %v", wallet, err)
		}
	}

	if _, err := b.Transactions.OpenWallet(ctx, b.wallet, transaction.WalletStart{}); err != nil {
		t.Error(err)
	}
	// inclusive pages
	if got, err := b.Transactions.IngestChain(ctx, b.wallet, b.history, time.Time{}); err != nil || got.Written != 0 {
		t.Errorf("%+v, %v", got, err)
	}

	b.incoming(address("bob"), coin, true)
	if got, err := b.Transactions.IngestChain(ctx, b.wallet, b.history, time.Time{}); err != nil || len(got.NewDeposits) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if money := b.balanced(); money[transaction.AccountWallet] != b.balance {
		t.Errorf("%v", money)
	}

	for _, c := range []struct {
		lt, balance int64
		known       bool
		differences int
	}{
		{b.history[3].LT, b.balance, true, 0}, {b.history[3].LT, b.balance + 1, true, 1}, {last.LT, 0, false, 0},
	} {
		differences, known, err := b.Transactions.CompareBalance(ctx, b.wallet, c.lt, c.balance)
		if err != nil || known != c.known || len(differences) != c.differences {
			t.Errorf("%+v: %+v, %v, %v", c, differences, known, err)
		}
	}
}
