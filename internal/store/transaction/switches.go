package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Switch stops payments while it is on.
type Switch struct {
	Name    string     `db:"name"`
	Since   *time.Time `db:"since"` // nil: off
	Reason  string     `db:"reason"`
	ByUser  *int64     `db:"by_user"`  // nil: the program
	RetryAt *time.Time `db:"retry_at"` // of a hold: when one purchase may try
}

// On says whether the switch stops payments.
func (s Switch) On() bool { return s.Since != nil }

// The switches.
const (
	SwitchPause = "pause" // by an operator: no payment is signed
	SwitchHold  = "hold"  // by the program: no purchase is signed, but for one that tries after retry_at
)

const switchColumns = `name, since, reason, by_user, retry_at`

// Switches lists both switches, on or off: the hold, then the pause.
func (s *Store) Switches(ctx context.Context) ([]Switch, error) {
	return core.List[Switch](ctx, s.db, `SELECT `+switchColumns+` FROM switches ORDER BY name`)
}

type switches struct{ pause, hold Switch }

// switchesIn reads the switches and keeps them as they are until the database transaction ends. Who holds a wallet's
// lock too took that one before.
func switchesIn(ctx context.Context, tx core.Session) (switches, error) {
	rows, err := core.List[Switch](ctx, tx, `SELECT `+switchColumns+` FROM switches ORDER BY name FOR UPDATE`)
	if err != nil {
		return switches{}, err
	}

	both := switches{}
	for _, row := range rows {
		if row.Name == SwitchPause {
			both.pause = row
		} else {
			both.hold = row
		}
	}

	return both, nil
}

// Pause stops all payments: once it returns nothing is signed any more. What is signed already goes on being proven. A
// second pause changes nothing.
func (s *Store) Pause(ctx context.Context, by *int64, reason string) error {
	return s.db.Do(ctx, `UPDATE switches SET since = now(), by_user = $1, reason = $2 WHERE name = 'pause' AND since IS NULL`, by,
		reason)
}

// Resume ends a pause, and a hold besides, and lets orders try again that wait for room in the limit for 24 hours.
func (s *Store) Resume(ctx context.Context) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := switchesIn(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, switchOff+`since IS NOT NULL`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, retryDeferred)
		return err
	})
}

const switchOff = `UPDATE switches SET since = NULL, reason = '', by_user = NULL, retry_at = NULL WHERE `

// Hold stops purchases for a reason that only time or a person can repair, but for one that may try at retryAt. A hold
// that is on renews the reason; the next try comes when the one that was planned has failed, after a pause as long as
// the hold has lasted, up to an hour.
func (s *Store) Hold(ctx context.Context, reason string, retryAt time.Time) error {
	return s.db.Do(ctx, `UPDATE switches SET since = coalesce(since, now()), reason = $1, retry_at = CASE
			WHEN $2::timestamptz <= now() THEN $2
			WHEN since IS NOT NULL AND retry_at > now() THEN retry_at
			ELSE greatest($2, now() + least(now() - coalesce(since, now()), interval '1 hour')) END WHERE name = 'hold'`, reason, retryAt)
}

func liftHold(ctx context.Context, tx core.Session) error {
	_, err := tx.Exec(ctx, switchOff+`name = 'hold'`)
	return err
}
