package transaction

import (
	"context"
	"strconv"
	"time"

	"stagecoach/internal/store/core"
)

// Account is an account of a wallet's ledger. Each entry sums to zero, and so do all accounts. A positive balance is
// where money is or went, a negative one where it came from.
type Account string

const (
	AccountWallet    Account = "wallet"     // what the wallet holds: the chain's balance at the cursor
	AccountReceived  Account = "received"   // −: customers' deposits, except for the next two accounts
	AccountReserved  Account = "reserved"   // −: set aside for the signed payment
	AccountRefundDue Account = "refund_due" // −: owed back to senders
	AccountPaid      Account = "paid"       // +: spent on Stars
	AccountGas       Account = "gas"        // +: spent on fees
	AccountRefunded  Account = "refunded"   // +: paid back
	AccountReturning Account = "returning"  // +: bounced and in transit back; −: back, not yet explained
	AccountOther     Account = "other"      // movements that belong to no customer, and the initial balance
)

// Accounts lists all accounts.
var Accounts = []Account{
	AccountWallet, AccountReceived, AccountReserved, AccountRefundDue, AccountPaid, AccountGas,
	AccountRefunded, AccountReturning, AccountOther,
}

// Balance is an account's balance in nanoTON.
type Balance struct {
	Account     Account `db:"account" json:"account"`
	BalanceNano int64   `db:"balance_nano" json:"balance_nano"`
}

// amounts are the postings of one entry.
type amounts map[Account]int64

// post writes an entry and its accounts' balances. The caller holds the wallet's lock. A repeated cause is an error:
// the caller must have checked.
func post(ctx context.Context, tx core.Session, wallet string, transaction *string, cause string, a amounts) error {
	accounts, nano := []Account{}, []int64{}
	for account, amount := range a {
		if amount != 0 {
			accounts, nano = append(accounts, account), append(nano, amount)
		}
	}

	// An upsert would check the posting as if it were the balance.
	_, err := tx.Exec(ctx, `WITH entry AS (
			INSERT INTO ledger_entries (cause, wallet, transaction_hash) VALUES ($1, $2, $3) RETURNING id, wallet
		), posted AS (
			INSERT INTO ledger_postings (entry_id, account, amount_nano)
			SELECT id, account, nano FROM entry, unnest($4::text[], $5::bigint[]) AS p (account, nano) RETURNING account, amount_nano
		), known AS (
			UPDATE ledger_balances b SET balance_nano = b.balance_nano + p.amount_nano FROM posted p, entry e
			WHERE b.wallet = e.wallet AND b.account = p.account RETURNING b.account
		) INSERT INTO ledger_balances (wallet, account, balance_nano)
		SELECT wallet, account, amount_nano FROM entry, posted WHERE account NOT IN (SELECT account FROM known)`,
		cause, wallet, transaction, accounts, nano)
	return err
}

// paymentCause names a payment's event.
func paymentCause(what string, id int64) string { return what + "/" + strconv.FormatInt(id, 10) }

// goneTo is the account of the money spent by a payment.
func goneTo(kind PaymentKind) Account {
	if kind == Refund {
		return AccountRefunded
	}
	return AccountPaid
}

// LedgerBalances lists a wallet's accounts in the order of Accounts; unused accounts are zero.
func (s *Store) LedgerBalances(ctx context.Context, wallet string) (balances []Balance, err error) {
	found, err := balancesIn(ctx, s.db, wallet)
	for _, account := range Accounts {
		balances = append(balances, Balance{account, found[account]})
	}
	return balances, err
}

func balancesIn(ctx context.Context, tx core.Session, wallet string) (amounts, error) {
	rows, err := core.List[Balance](ctx, tx, `SELECT account, balance_nano FROM ledger_balances WHERE wallet = $1`, wallet)
	balances := amounts{}
	for _, row := range rows {
		balances[row.Account] = row.BalanceNano
	}
	return balances, err
}

// LedgerEntry is a change of the ledger because of a transaction.
type LedgerEntry struct {
	Cause     string    `db:"cause"`
	CreatedAt time.Time `db:"created_at"`
	Postings  []Balance `db:"postings"` // they sum to zero
}

// LedgerOf lists a transaction's entries, oldest first. Served by the index ledger_entries_of and the key of the
// postings.
func (s *Store) LedgerOf(ctx context.Context, hash string) ([]LedgerEntry, error) {
	return core.List[LedgerEntry](ctx, s.db, `SELECT cause, created_at,
		(SELECT jsonb_agg(jsonb_build_object('account', account, 'balance_nano', amount_nano) ORDER BY account)
			FROM ledger_postings WHERE entry_id = e.id) AS postings
		FROM ledger_entries e WHERE transaction_hash = $1 ORDER BY id`, hash)
}
