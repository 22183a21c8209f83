package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Switch stops payments while it is on.
type Switch struct {
	Wallet  string     `db:"wallet"` // its address; empty: of all wallets
	Name    string     `db:"name"`
	Since   *time.Time `db:"since"` // nil: off
	Reason  string     `db:"reason"`
	ByUser  *int64     `db:"by_user"`  // nil: the system
	RetryAt *time.Time `db:"retry_at"` // of a hold: when one purchase may probe
}

// On reports whether the switch stops payments.
func (s Switch) On() bool { return s.Since != nil }

// The switches. All wallets together have a pause, and each one has both.
const (
	SwitchPause = "pause" // by an operator: no payment is signed
	SwitchHold  = "hold"  // by the system: no purchase is signed, except for a probe after retry_at
)

const switchColumns = `name, since, reason, by_user, retry_at`

// commonPause is the pause of all wallets, and ownSwitches are those of the wallet $1.
const (
	commonPause = `SELECT '' AS wallet, ` + switchColumns + ` FROM switches WHERE name = 'pause'`
	ownSwitches = `SELECT wallet, ` + switchColumns + ` FROM wallet_switches WHERE wallet = $1`
)

// Switches lists the switches of all wallets and those of the wallet with an address, on or off.
func (s *Store) Switches(ctx context.Context, wallet string) ([]Switch, error) {
	return core.List[Switch](ctx, s.db, commonPause+` UNION ALL (`+ownSwitches+` ORDER BY name)`, wallet)
}

type switches struct{ pause, hold Switch }

// switchesIn reads the switches of a locked wallet and locks them until the database transaction ends. All wallets share
// the lock of the common one: only its change waits.
func switchesIn(ctx context.Context, tx core.Session, wallet string) (switches, error) {
	rows, err := core.List[Switch](ctx, tx, `WITH common AS MATERIALIZED (`+commonPause+` FOR SHARE), own AS MATERIALIZED (`+ownSwitches+` FOR UPDATE)
		SELECT * FROM common UNION ALL SELECT * FROM own`, wallet)
	if err != nil {
		return switches{}, err
	}

	both := switches{}
	for _, row := range rows {
		switch {
		case row.Name == SwitchHold:
			both.hold = row
		case row.On():
			both.pause = row
		}
	}

	return both, nil
}

// Pause stops all payments of the wallet with an address, or of all wallets without one: once it returns, nothing is
// signed any more. Signed payments are still followed to their proof. A second pause changes nothing.
func (s *Store) Pause(ctx context.Context, wallet string, by *int64, reason string) error {
	const pause = ` SET since = now(), by_user = $1, reason = $2 WHERE name = 'pause' AND since IS NULL`
	if wallet == "" {
		return s.db.Do(ctx, `UPDATE switches`+pause, by, reason)
	}
	return s.db.Do(ctx, `UPDATE wallet_switches`+pause+` AND wallet = $3`, by, reason, wallet)
}

// Resume ends the pause and the hold of the wallet with an address; without one the common pause, and those of all
// wallets. Orders that wait for room in the limit for 24 hours try again.
func (s *Store) Resume(ctx context.Context, wallet string) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		if wallet == "" {
			batch.Queue(`UPDATE switches` + off + `since IS NOT NULL`)
		}
		batch.Queue(`UPDATE wallet_switches`+off+`since IS NOT NULL AND ($1 = '' OR wallet = $1)`, wallet)
		batch.Queue(retryDeferred)
		return tx.SendBatch(ctx, batch).Close()
	})
}

const off = ` SET since = NULL, reason = '', by_user = NULL, retry_at = NULL WHERE `

// Hold stops purchases of a wallet for a reason that only time or a person can remove, except for one probe at retryAt. A
// second call during a hold updates the reason; the next probe comes when the planned one has failed, after a pause as
// long as the hold has lasted, up to an hour.
func (s *Store) Hold(ctx context.Context, wallet, reason string, retryAt time.Time) error {
	return s.db.Do(ctx, `UPDATE wallet_switches SET since = coalesce(since, now()), reason = $1, retry_at = CASE
			WHEN $2::timestamptz <= now() THEN $2
			WHEN since IS NOT NULL AND retry_at > now() THEN retry_at
			ELSE greatest($2, now() + least(now() - coalesce(since, now()), interval '1 hour')) END
		WHERE wallet = $3 AND name = 'hold'`, reason, retryAt, wallet)
}

// AnyHeld reports whether the purchases of a wallet are held that is in use.
func (s *Store) AnyHeld(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM (`+walletsInUse+`) w JOIN wallet_switches s ON s.wallet = w.address
		WHERE s.name = 'hold' AND s.since IS NOT NULL)`)
}

func liftHold(ctx context.Context, tx core.Session, wallet string) error {
	_, err := tx.Exec(ctx, `UPDATE wallet_switches`+off+`wallet = $1 AND name = 'hold'`, wallet)
	return err
}
