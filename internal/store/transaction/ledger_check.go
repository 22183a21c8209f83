package transaction

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Difference is a disagreement between two records.
type Difference struct {
	What    string `db:"what"`    // the broken rule
	Subject string `db:"subject"` // the account, hash or number that breaks it
	Want    int64  `db:"want"`
	Got     int64  `db:"got"`
}

// LedgerCheck compares a wallet's ledger with the rest of the record, to the last posting. It normally returns an empty
// list.
func (s *Store) LedgerCheck(ctx context.Context, wallet string) ([]Difference, error) {
	return core.List[Difference](ctx, s.db, `WITH
		posted AS (SELECT e.id, e.cause, p.account, p.amount_nano FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id WHERE e.wallet = $1),
		balance AS (SELECT account, balance_nano FROM ledger_balances WHERE wallet = $1),
		chain AS (SELECT *, lag(lt) OVER (ORDER BY lt) AS last_lt FROM chain_transactions WHERE wallet = $1),
		pay AS (SELECT * FROM payments WHERE wallet = $1),
		tx AS (SELECT * FROM transactions WHERE wallet = $1),
		should (account, nano) AS (VALUES
			(`+core.Literal(AccountWallet)+`, (SELECT coalesce(sum(in_nano - out_nano - fee_nano), 0) FROM chain)
				+ coalesce((SELECT amount_nano FROM posted WHERE cause = 'opening/' || $1 AND account = 'wallet'), 0)),
			(`+core.Literal(AccountReserved)+`, -(SELECT coalesce(sum(reserved_nano), 0) FROM pay WHERE `+isSigned+`)),
			(`+core.Literal(AccountRefundDue)+`, -(SELECT coalesce(sum(refund_due_nano), 0) FROM tx)),
			(`+core.Literal(AccountPaid)+`, (SELECT coalesce(sum(paid_nano), 0) FROM pay WHERE `+isPaid+` AND `+isPurchase+`)),
			(`+core.Literal(AccountRefunded)+`, (SELECT coalesce(sum(paid_nano), 0) FROM pay WHERE `+isPaid+` AND `+isRefund+`)),
			(`+core.Literal(AccountGas)+`, (SELECT coalesce(sum(fee_nano), 0) FROM chain) + (SELECT coalesce(sum(paid_nano - returned_nano), 0) FROM pay WHERE `+isBounced+`)),
			(`+core.Literal(AccountReturning)+`, (SELECT coalesce(sum(returned_nano), 0) FROM pay WHERE `+isBounced+`)
				- (SELECT coalesce(sum(in_nano), 0) FROM chain WHERE means = 'bounce')),
			(`+core.Literal(AccountReceived)+`, -(SELECT coalesce(sum(amount_nano), 0) FROM tx) + (SELECT coalesce(sum(reserved_nano), 0) FROM pay WHERE `+isSigned+`)
				+ (SELECT coalesce(sum(refund_due_nano), 0) FROM tx)))
		SELECT what, subject, want::bigint, got::bigint FROM (
			SELECT 'account' AS what, account AS subject, nano AS want, coalesce(balance_nano, 0) AS got
				FROM should LEFT JOIN balance USING (account) WHERE nano <> coalesce(balance_nano, 0)
			UNION ALL SELECT 'running balance', account, coalesce(sum(amount_nano), 0), max(coalesce(balance_nano, 0))
				FROM posted FULL JOIN balance USING (account) GROUP BY account HAVING coalesce(sum(amount_nano), 0) <> max(coalesce(balance_nano, 0))
			UNION ALL SELECT 'entry', cause, 0, sum(amount_nano) FROM posted GROUP BY cause HAVING sum(amount_nano) <> 0
			UNION ALL SELECT 'below zero', account, 0, balance_nano FROM balance
				WHERE account IN `+neverBelowZero+` AND balance_nano < 0
			UNION ALL SELECT 'gap in the chain', hash, last_lt, prev_lt FROM chain WHERE prev_lt <> last_lt
			UNION ALL SELECT 'cursor', $1, (SELECT max(lt) FROM chain), cursor_lt FROM ton_wallets WHERE address = $1 AND cursor_lt <> (SELECT max(lt) FROM chain)
			UNION ALL SELECT 'deposit', hash, in_nano, coalesce(amount_nano, 0) FROM (SELECT * FROM chain WHERE means = 'deposit') c
				FULL JOIN tx USING (hash) WHERE in_nano IS DISTINCT FROM amount_nano
			UNION ALL SELECT 'processed without a payment', hash, 1, 0 FROM tx WHERE `+isProcessed+` AND NOT EXISTS (
				SELECT 1 FROM pay WHERE transaction_hash = tx.hash AND `+isPurchase+` AND (`+isPaid+` OR `+isBounced+`) AND chain_hash = fragment_transaction_hash)
			UNION ALL SELECT 'refund kept', hash, dust_nano, coalesce(nano, 0) FROM tx LEFT JOIN (
				SELECT split_part(cause, '/', 2) AS hash, sum(amount_nano) AS nano FROM posted WHERE cause LIKE 'dust/%' AND account = 'refund_due' GROUP BY 1
				) kept USING (hash) WHERE dust_nano <> coalesce(nano, 0)
			UNION ALL SELECT 'paid twice', transaction_hash, 1, count(*) FROM pay WHERE `+isPaid+` GROUP BY transaction_hash, kind HAVING count(*) > 1
		) differences ORDER BY what, subject`, wallet)
}

// neverBelowZero are the accounts of money in the wallet, and of spent money.
var neverBelowZero = core.SetOf([]Account{AccountWallet, AccountPaid, AccountGas, AccountRefunded})

// CompareBalance compares the ledger with the wallet's balance on the chain right after the transaction at lt. known is
// false while the cursor is elsewhere: nothing is compared then.
func (s *Store) CompareBalance(
	ctx context.Context, wallet string, lt, balanceNano int64,
) (differences []Difference, known bool, err error) {
	type state struct {
		CursorLT    int64 `db:"cursor_lt"`
		BalanceNano int64 `db:"balance_nano"`
	}

	now, err := core.One[state](ctx, s.db, noWallet, `SELECT cursor_lt, coalesce(balance_nano, 0) AS balance_nano FROM ton_wallets w
		LEFT JOIN ledger_balances b ON b.wallet = w.address AND account = 'wallet' WHERE address = $1`, wallet)
	if err != nil || now.CursorLT != lt {
		return nil, false, err
	}

	if now.BalanceNano != balanceNano {
		differences = []Difference{{What: "balance on the chain", Subject: wallet, Want: balanceNano, Got: now.BalanceNano}}
	}
	return differences, true, nil
}

// PurchaseRecord is a paid purchase for comparison with Fragment's list.
type PurchaseRecord struct {
	ID              int64                      `db:"id"` // of the payment
	TransactionHash string                     `db:"transaction_hash"`
	ChainHash       string                     `db:"chain_hash"` // of the payment on the chain
	Username        string                     `db:"username"`
	Stars           int64                      `db:"stars"`
	PaidNano        int64                      `db:"paid_nano"`
	Status          lifecycle.TransactionState `db:"status"` // of the transaction
	PaidAt          time.Time                  `db:"paid_at"`
}

// Purchases lists purchases that were paid and did not bounce, with payment ids above after, ascending.
func (s *Store) Purchases(ctx context.Context, wallet string, after int64, limit int) ([]PurchaseRecord, error) {
	return core.List[PurchaseRecord](ctx, s.db, `SELECT p.id, transaction_hash, chain_hash, username, stars, paid_nano, status, c.at AS paid_at
		FROM payments p JOIN transactions t ON t.hash = p.transaction_hash JOIN chain_transactions c ON c.wallet = p.wallet AND c.lt = p.chain_lt
		WHERE p.wallet = $1 AND `+isPurchase+` AND `+isPaid+` AND p.id > $2 ORDER BY p.id LIMIT $3`, wallet, after, limit)
}
