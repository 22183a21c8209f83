package store_test

import (
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestLedgerIsStrict writes invalid entries to the ledger.
func TestLedgerIsStrict(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.deposit("ann", coin)
	for name, sql := range map[string]string{
		"an entry that does not sum to zero": `WITH e AS (INSERT INTO ledger_entries (cause, wallet) SELECT 'x', address FROM ton_wallets RETURNING id)
			INSERT INTO ledger_postings SELECT id, 'gas', 5 FROM e`,
		"a changed posting":  `UPDATE ledger_postings SET amount_nano = amount_nano + 1`,
		"a lost posting":     `DELETE FROM ledger_postings`,
		"no postings":        `TRUNCATE ledger_postings`,
		"a lost entry":       `DELETE FROM ledger_entries`,
		"a cause once more":  `INSERT INTO ledger_entries (cause, wallet) SELECT cause, wallet FROM ledger_entries LIMIT 1`,
		"a negative reserve": `UPDATE ledger_balances SET balance_nano = 1 WHERE account = 'received'; INSERT INTO ledger_balances SELECT address, 'reserved', 1 FROM ton_wallets`,
	} {
		if b.tryExec(sql) == nil {
			t.Errorf("%s is taken", name)
		}
	}

	b.balanced()
}

// TestLedgerCheckSees corrupts the record in many ways, and each is detected.
func TestLedgerCheckSees(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"account":                     `UPDATE transactions SET refund_due_nano = refund_due_nano + 1 WHERE refund_due_nano > 0`,
		"running balance":             `UPDATE ledger_balances SET balance_nano = balance_nano + 1 WHERE account = 'gas'`,
		"entry":                       `SET session_replication_role = replica; UPDATE ledger_postings SET amount_nano = amount_nano + 1 WHERE account = 'paid'`,
		"below zero":                  `UPDATE ledger_balances SET balance_nano = -1 WHERE account = 'wallet'`,
		"gap in the chain":            `DELETE FROM chain_transactions WHERE lt = 20`,
		"cursor":                      `UPDATE ton_wallets SET cursor_lt = cursor_lt + 1`,
		"deposit":                     `UPDATE transactions SET amount_nano = amount_nano + 1 WHERE status = 'pending'`,
		"processed without a payment": `UPDATE transactions SET fragment_transaction_hash = hash WHERE status = 'processed'`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			done := b.ordered("ann", 3*coin)
			b.settle(b.paid(done), transaction.Destination{Kept: true})
			b.ok(b.Transactions.Finish(t.Context(), done, 1, true))
			b.fail(b.ordered("bob", 3*coin), "Username not found", lifecycle.NonRetryable, true)
			b.deposit("cid", coin)
			b.balanced()
			b.exec(sql)
			differences, err := b.Transactions.LedgerCheck(t.Context(), b.wallet)
			b.must(err)

			for _, difference := range differences {
				if difference.What == what && difference.Want != difference.Got && difference.Subject != "" {
					return
				}
			}

			t.Errorf("%+v", differences)
		})
	}
}
