package transaction

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Wallet is one of our wallets and how far its history is known.
type Wallet struct {
	Address    string     `db:"address"`
	Name       string     `db:"name"`      // in the names of its task queues; empty: the only one, or the first
	CursorLT   int64      `db:"cursor_lt"` // of the last known transaction; 0: none
	CursorHash string     `db:"cursor_hash"`
	ScannedTo  *time.Time `db:"scanned_to"` // chain time up to which the history is complete; nil: never scanned
	NextSeqno  int64      `db:"next_seqno"` // above every seqno that is known to be used
}

// WalletStart is where the record of a wallet begins: the zero value for its first transaction, else after a
// transaction, with the balance and the next seqno that the wallet had then.
type WalletStart struct {
	LT          int64
	Hash        string
	BalanceNano int64
	Seqno       int64 // the wallet's next one
	Name        string
}

const walletColumns = `address, name, cursor_lt, cursor_hash, scanned_to, next_seqno`

var noWallet = fault.New(fault.WalletNotFound, "the record of this wallet was never begun")

// OpenWallet begins the record of a wallet, unless it exists already.
func (s *Store) OpenWallet(ctx context.Context, address string, start WalletStart) (Wallet, error) {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO ton_wallets (address, name, cursor_lt, cursor_hash, next_seqno) VALUES ($1, $5, $2, $3, $4) ON CONFLICT DO NOTHING`,
			address, start.LT, start.Hash, start.Seqno, start.Name)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO wallet_switches (wallet, name) VALUES ($1, 'pause'), ($1, 'hold')`, address); err != nil {
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

// WalletByAddress returns a wallet; WALLET_NOT_FOUND: its record was never begun.
func (s *Store) WalletByAddress(ctx context.Context, address string) (Wallet, error) {
	return core.One[Wallet](ctx, s.db, noWallet, `SELECT `+walletColumns+` FROM ton_wallets WHERE address = $1`, address)
}

// NameWallet gives the name to a wallet whose record was begun; it may be the one that it has.
func (s *Store) NameWallet(ctx context.Context, address, name string) error {
	return s.db.Do(ctx, `UPDATE ton_wallets SET name = $2 WHERE address = $1 AND name <> $2`, address, name)
}

// walletsInUse are the wallets that a process follows: of each name the one that was followed last, and none that nobody
// has followed for a day, unless there is no other. The table has a row for each wallet that ever was.
const walletsInUse = `SELECT * FROM (SELECT DISTINCT ON (name) * FROM ton_wallets ORDER BY name, updated_at DESC) w
	WHERE updated_at > (SELECT max(updated_at) FROM ton_wallets) - interval '1 day'`

// WalletLine is a wallet in use, with what a customer who pays into it has to expect.
type WalletLine struct {
	Wallet
	Waiting int       `db:"waiting"` // payments that have its turn, or wait for it
	Stopped bool      `db:"stopped"` // its payments are paused, or its purchases held
	SeenAt  time.Time `db:"seen_at"` // when its history was read last
}

// WalletsInUse lists the wallets that are followed now, by name. The index payment_queue_sender counts a line.
func (s *Store) WalletsInUse(ctx context.Context) ([]WalletLine, error) {
	return core.List[WalletLine](ctx, s.db, `SELECT `+walletColumns+`, updated_at AS seen_at,
			(SELECT count(*) FROM payment_queue q WHERE q.wallet = address) AS waiting,
			EXISTS (SELECT 1 FROM wallet_switches s WHERE s.wallet = address AND s.since IS NOT NULL) AS stopped
		FROM (`+walletsInUse+`) w ORDER BY name`)
}

// ActiveWallet returns the wallet that was updated last; WALLET_NOT_FOUND: there never was one.
func (s *Store) ActiveWallet(ctx context.Context) (Wallet, error) {
	return core.One[Wallet](
		ctx, s.db, noWallet, `SELECT `+walletColumns+` FROM ton_wallets ORDER BY updated_at DESC LIMIT 1`,
	)
}

// lockedWallet is a wallet whose lock this database transaction holds, with the time of the lock: Now of one holder is
// later than Now of every earlier holder.
type lockedWallet struct {
	Wallet
	Now time.Time `db:"now"`
}

func lockWallet(ctx context.Context, tx core.Session, address string) (locked lockedWallet, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`SELECT `+walletColumns+` FROM ton_wallets WHERE address = $1 FOR UPDATE`, address).Query(func(rows pgx.Rows) (err error) {
		locked.Wallet, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Wallet])
		if errors.Is(err, pgx.ErrNoRows) {
			return noWallet
		}
		return err
	})
	batch.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&locked.Now) }) // with the lock
	err = core.Unavailable(tx.SendBatch(ctx, batch).Close())
	return locked, err
}

// WalletState is what waits for money to move. The fields are about the wallets in use together, and nil while there is
// none.
type WalletState struct {
	BalanceNano *int64 `db:"balance_nano"` // as the ledger has it
	// seconds since the chain time up to which the history of each is complete; nil: one was never scanned
	ChainLag *float64 `db:"chain_lag"`
}

// PaymentState returns the state of the wallets in use, and the switches that are on: the common pause, then those of
// each wallet.
func (s *Store) PaymentState(ctx context.Context) (state WalletState, on []Switch, err error) {
	rows, err := core.List[struct {
		WalletState
		Switch
	}](ctx, s.db, `WITH used AS (`+walletsInUse+`)
		SELECT balance_nano, chain_lag, coalesce(wallet, '') AS wallet, coalesce(name, '') AS name, since, coalesce(reason, '') AS reason, by_user, retry_at
		FROM (SELECT sum(coalesce(b.balance_nano, 0))::bigint AS balance_nano,
				CASE WHEN bool_and(scanned_to IS NOT NULL) THEN extract(epoch FROM now() - min(scanned_to))::float8 END AS chain_lag
			FROM used LEFT JOIN ledger_balances b ON b.wallet = address AND account = 'wallet') w
		LEFT JOIN (`+commonPause+` UNION ALL SELECT wallet, `+switchColumns+` FROM wallet_switches WHERE wallet IN (SELECT address FROM used)) s ON since IS NOT NULL
		ORDER BY wallet, name`)
	for _, row := range rows {
		state = row.WalletState
		if row.On() {
			on = append(on, row.Switch)
		}
	}
	return state, on, err
}

// SwitchesOn lists the switches that are on, of all wallets together and of those in use.
func (s *Store) SwitchesOn(ctx context.Context) ([]Switch, error) {
	return core.List[Switch](ctx, s.db, `SELECT * FROM (`+commonPause+` UNION ALL SELECT wallet, `+switchColumns+` FROM wallet_switches
			WHERE wallet IN (SELECT address FROM (`+walletsInUse+`) w)) s WHERE since IS NOT NULL ORDER BY wallet, name`)
}
