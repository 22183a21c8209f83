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
	ByUser  *int64     `db:"by_user"`  // nil: the system
	EndedAt *time.Time `db:"ended_at"` // when it was on for the last time; nil: never
}

// On reports whether the switch stops payments.
func (s Switch) On() bool { return s.Since != nil }

// The switches.
const (
	SwitchPause = "pause" // by an operator: no payment is signed
	SwitchHold  = "hold"  // by the system: no purchase can succeed, and the order that has the turn waits for the end of the cause
)

// Switches are what stops payments.
type Switches struct{ Pause, Hold Switch }

const allSwitches = `SELECT name, since, reason, by_user, ended_at FROM switches ORDER BY name`

// Switches returns the switches, on or off.
func (s *Store) Switches(ctx context.Context) (Switches, error) {
	return readSwitches(ctx, s.db, allSwitches)
}

func readSwitches(ctx context.Context, db core.Session, query string) (both Switches, err error) {
	rows, err := core.List[Switch](ctx, db, query)
	for _, row := range rows {
		if row.Name == SwitchHold {
			both.Hold = row
		} else {
			both.Pause = row
		}
	}
	return both, err
}

// lockSwitches reads the switches and locks them until the database transaction ends.
func lockSwitches(ctx context.Context, tx core.Session) (Switches, error) {
	return readSwitches(ctx, tx, allSwitches+` FOR UPDATE`)
}

// Pause stops all payments: once it returns, nothing is signed any more. Signed payments are still followed to their
// proof. A second pause changes nothing.
func (s *Store) Pause(ctx context.Context, by *int64, reason string) error {
	return s.db.Do(ctx, `UPDATE switches SET since = now(), by_user = $1, reason = $2 WHERE name = 'pause' AND since IS NULL`, by, reason)
}

// Resume ends the pause and the hold.
func (s *Store) Resume(ctx context.Context) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockSwitches(ctx, tx); err != nil { // in the order of signatures, so that neither blocks the other
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE switches`+off+`since IS NOT NULL`)
		return err
	})
}

const off = ` SET since = NULL, reason = '', by_user = NULL, ended_at = now() WHERE `

// Hold records that no purchase can succeed for now, and why.
func (s *Store) Hold(ctx context.Context, reason string) error {
	return s.db.Do(ctx, `UPDATE switches SET since = coalesce(since, now()), reason = $1 WHERE name = 'hold'`, reason)
}

func liftHold(ctx context.Context, tx core.Session) error {
	_, err := tx.Exec(ctx, `UPDATE switches`+off+`name = 'hold'`)
	return err
}
