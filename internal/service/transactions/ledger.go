package transactions

import (
	"cmp"
	"context"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// FragmentPurchase is one line of a list of Fragment's sales to this wallet.
type FragmentPurchase struct {
	Username    string    `json:"username"`
	Stars       int64     `json:"stars"`
	PaidNano    int64     `json:"paid_nano"`
	PaymentHash string    `json:"payment_hash"` // of our wallet's transaction, in hex
	At          time.Time `json:"at"`
}

// LedgerReport is the result of a reconciliation. It normally contains no differences.
type LedgerReport struct {
	Wallet      string
	ScannedTo   *time.Time // chain time up to which the record is complete; nil: never scanned
	Balances    []transaction.Balance
	Chain       bool // the balance on the chain was compared; false: the record is currently behind
	Purchases   int  // compared with Fragment's list; 0 without one
	Differences []transaction.Difference
}

// Ledger returns only the balances of the wallet's ledger.
func (c *Service) Ledger(ctx context.Context) (LedgerReport, error) {
	wallet, err := c.wallet(ctx)
	if err != nil {
		return LedgerReport{}, err
	}
	report := LedgerReport{Wallet: wallet.Address, ScannedTo: wallet.ScannedTo}
	report.Balances, err = c.Store.Transactions.LedgerBalances(ctx, wallet.Address)
	return report, err
}

// Reconcile compares the wallet's ledger with the rest of the record, with the wallet's balance on the chain and, if
// given, with Fragment's list of purchases.
func (c *Service) Reconcile(ctx context.Context, purchases []FragmentPurchase) (LedgerReport, error) {
	report, err := c.Ledger(ctx)
	if err != nil {
		return LedgerReport{}, err
	}
	if report.Differences, err = c.Store.Transactions.LedgerCheck(ctx, report.Wallet); err != nil {
		return LedgerReport{}, err
	}

	lt, nano, err := c.Balance(ctx, report.Wallet)
	if err != nil {
		return LedgerReport{}, err
	}

	found, known, err := c.Store.Transactions.CompareBalance(ctx, report.Wallet, lt, nano)
	if err != nil {
		return LedgerReport{}, err
	}

	report.Chain, report.Differences = known, append(report.Differences, found...)
	if purchases == nil {
		return report, nil
	}

	found, err = c.comparePurchases(ctx, report.Wallet, purchases)
	report.Purchases, report.Differences = len(purchases), append(report.Differences, found...)
	return report, err
}

const purchasesPage = 1000

// comparePurchases matches Fragment's purchases with the record's, in both directions.
func (c *Service) comparePurchases(
	ctx context.Context, wallet string, sold []FragmentPurchase,
) ([]transaction.Difference, error) {
	theirs, ours := map[string][]FragmentPurchase{}, map[string]bool{} // by the payment's hash
	var differences []transaction.Difference
	differ := func(what, subject string, want, got int64) {
		if want != got {
			differences = append(differences, transaction.Difference{What: what, Subject: subject, Want: want, Got: got})
		}
	}

	for _, purchase := range sold {
		theirs[purchase.PaymentHash] = append(theirs[purchase.PaymentHash], purchase)
	}

	compare := func(p transaction.PurchaseRecord) {
		ours[p.ChainHash] = true
		purchase, known := takePurchase(theirs, p)
		switch {
		case known:
			differ("Stars sold by Fragment", p.TransactionHash, p.Stars, purchase.Stars)
			differ("nanoTON taken by Fragment", p.TransactionHash, p.PaidNano, purchase.PaidNano)
		case p.Status == lifecycle.TransactionProcessed:
			differ("processed, but not sold by Fragment", p.TransactionHash, 1, 0)
		default:
			differ("paid, and not sold by Fragment yet", p.TransactionHash, 1, 0)
		}
	}

	for after := int64(0); ; {
		page, err := c.Store.Transactions.Purchases(ctx, wallet, after, purchasesPage)
		if err != nil {
			return nil, err
		}

		for _, p := range page {
			after = p.ID
			compare(p)
		}

		if len(page) < purchasesPage {
			break
		}
	}

	for hash, left := range theirs {
		if ours[hash] {
			differ("sold twice by Fragment", hash, 1, 1+int64(len(left)))
		} else {
			differ("sold by Fragment, unknown to the record", hash, 0, int64(len(left)))
		}
	}
	return differences, nil
}

// takePurchase removes a recorded purchase from Fragment's list: of those with the same payment hash the equal one,
// else the first.
func takePurchase(theirs map[string][]FragmentPurchase, ours transaction.PurchaseRecord) (FragmentPurchase, bool) {
	list := theirs[ours.ChainHash]
	if len(list) == 0 {
		return FragmentPurchase{}, false
	}

	at := slices.IndexFunc(list, func(p FragmentPurchase) bool {
		return p.Stars == ours.Stars && p.PaidNano == ours.PaidNano
	})
	at = max(at, 0)
	purchase := list[at]
	theirs[ours.ChainHash] = slices.Delete(list, at, at+1)
	return purchase, true
}

// Solvency is a wallet's balance by the chain and by the ledger.
type Solvency struct {
	LedgerReport
	ChainNano *int64     // nil: the chain did not answer
	ReadAt    *time.Time // when the chain was read
	Failure   fault.Code // why it could not be read; empty: it was
}

// The maximum age of the chain's answer: lower if the record is at another transaction than the answer.
const (
	balanceAge = 15 * time.Second
	behindAge  = 3 * time.Second
)

// chainBalance is a wallet's balance on the chain after its transaction LT.
type chainBalance struct{ LT, Nano int64 }

// Solvency compares a wallet's balance on the chain with the ledger's. All callers of this process share one reading of
// the chain, at most balanceAge old.
func (c *Service) Solvency(ctx context.Context) (Solvency, error) {
	ledger, err := c.Ledger(ctx)
	if err != nil {
		return Solvency{}, err
	}

	solvency := Solvency{LedgerReport: ledger}
	for _, age := range []time.Duration{balanceAge, behindAge} {
		chain, at, err := c.balances.Get(ctx, age, func(ctx context.Context) (read chainBalance, err error) {
			read.LT, read.Nano, err = c.Balance(ctx, ledger.Wallet)
			return read, err
		})
		if err != nil {
			solvency.Failure = cmp.Or(fault.CodeOf(err), fault.ChainUnavailable)
			return solvency, nil
		}

		if solvency.ReadAt != nil && at.Equal(*solvency.ReadAt) { // it was not read again
			return solvency, nil
		}

		solvency.ChainNano, solvency.ReadAt = &chain.Nano, &at
		solvency.Differences, solvency.Chain, err = c.Store.Transactions.CompareBalance(ctx, ledger.Wallet, chain.LT, chain.Nano)
		if err != nil || solvency.Chain {
			return solvency, err
		}
	}

	return solvency, nil
}
