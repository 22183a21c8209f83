package transaction

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Wallet is a wallet of ours and how far its history is known.
type Wallet struct {
	Address    string     `db:"address"`
	CursorLT   int64      `db:"cursor_lt"` // of the last known transaction; 0: none
	CursorHash string     `db:"cursor_hash"`
	ScannedTo  *time.Time `db:"scanned_to"` // chain time up to which the history is complete; nil: never scanned
	NextSeqno  int64      `db:"next_seqno"` // above every seqno known to be used

	Requests  int64   `db:"requests"`   // to Fragment with the wallet's session so far
	RequestOf *string `db:"request_of"` // the transaction of the last one until something is signed for it; nil: closed

	SignedUntil *time.Time `db:"signed_until"` // until when the one signed message can be executed; nil: none is signed
}

// WalletStart is where a wallet's record begins: at its first transaction (the zero value), or after a transaction,
// with the wallet's balance and next seqno at that point.
type WalletStart struct {
	LT          int64
	Hash        string
	BalanceNano int64
	Seqno       int64 // the wallet's next one
}

var walletColumns = `address, cursor_lt, cursor_hash, scanned_to, next_seqno, requests, request_of,
	(SELECT max(valid_until) FROM payments WHERE wallet = address AND ` + isSigned + `) AS signed_until`

var noWallet = fault.New(fault.WalletNotFound, "this wallet has no record yet")

// OpenWallet begins a wallet's record, unless it exists.
func (s *Store) OpenWallet(ctx context.Context, address string, start WalletStart) (Wallet, error) {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, next_seqno) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			address, start.LT, start.Hash, start.Seqno)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return post(
			ctx, tx, address, nil, "opening/"+address,
			amounts{AccountWallet: start.BalanceNano, AccountOther: -start.BalanceNano},
		)
	})
	if err != nil {
		return Wallet{}, err
	}

	return s.WalletByAddress(ctx, address)
}

// WalletByAddress returns a wallet; WALLET_NOT_FOUND: it has no record.
func (s *Store) WalletByAddress(ctx context.Context, address string) (Wallet, error) {
	return core.One[Wallet](ctx, s.db, noWallet, `SELECT `+walletColumns+` FROM ton_wallets WHERE address = $1`, address)
}

// activeWallet is the wallet followed last. The table keeps those whose key was replaced.
const activeWallet = `SELECT * FROM ton_wallets ORDER BY updated_at DESC LIMIT 1`

// ActiveWallet returns the wallet followed last; WALLET_NOT_FOUND: there never was one.
func (s *Store) ActiveWallet(ctx context.Context) (Wallet, error) {
	return core.One[Wallet](ctx, s.db, noWallet, `SELECT `+walletColumns+` FROM (`+activeWallet+`) w`)
}

// lockedWallet is a wallet locked by this database transaction, with the time of the lock: each holder's Now is later
// than every earlier holder's.
type lockedWallet struct {
	Wallet
	Now time.Time `db:"now"`
}

func (w *lockedWallet) queueLock(batch *pgx.Batch, address string) {
	batch.Queue(`SELECT `+walletColumns+` FROM ton_wallets WHERE address = $1 FOR UPDATE`, address).Query(func(rows pgx.Rows) (err error) {
		w.Wallet, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Wallet])
		if errors.Is(err, pgx.ErrNoRows) {
			return noWallet
		}
		return err
	})
	batch.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&w.Now) }) // with the lock
}

// WalletState is the active wallet's balance, and how far its history is known.
type WalletState struct {
	BalanceNano *int64 `db:"balance_nano"` // according to the ledger; nil: there is no wallet
	// seconds since the chain time up to which its history is complete; nil: never scanned
	ChainLag *float64 `db:"chain_lag"`
}

// PaymentState returns the active wallet's state, and the switches that are on.
func (s *Store) PaymentState(ctx context.Context) (state WalletState, on []Switch, err error) {
	rows, err := core.List[struct {
		WalletState
		Switch
	}](ctx, s.db, `SELECT balance_nano, chain_lag, coalesce(name, '') AS name, since, coalesce(reason, '') AS reason, by_user, ended_at,
			coalesce(suspect, '') AS suspect
		FROM (VALUES (true)) always
		LEFT JOIN (SELECT coalesce(balance_nano, 0) AS balance_nano, extract(epoch FROM now() - scanned_to)::float8 AS chain_lag
			FROM (`+activeWallet+`) w LEFT JOIN ledger_balances b ON b.wallet = address AND account = 'wallet') w ON true
		LEFT JOIN switches s ON since IS NOT NULL
		ORDER BY name DESC`)
	for _, row := range rows {
		state = row.WalletState
		if row.On() {
			on = append(on, row.Switch)
		}
	}
	return state, on, err
}
