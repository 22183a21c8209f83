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
	EndedAt *time.Time `db:"ended_at"` // when it was last on; nil: never
	// Suspect is, for a hold, the last failure of an order possibly caused by the shop; empty: others have had none since.
	Suspect string `db:"suspect"`
}

// On reports whether the switch stops payments.
func (s Switch) On() bool { return s.Since != nil }

// The switches.
const (
	SwitchPause = "pause" // by an operator: no payment is signed
	SwitchHold  = "hold"  // by the system: no purchase can succeed, and orders wait until the cause is gone
)

// Switches are what stops payments.
type Switches struct{ Pause, Hold Switch }

const allSwitches = `SELECT name, since, reason, by_user, ended_at, suspect FROM switches ORDER BY name`

// stoppedTime is how long payments have been stopped in total. Time when both switches are on counts once.
const stoppedTime = `(SELECT sum(stopped) + coalesce(clock_timestamp() - min(since), '0') FROM switches)`

// processingFor is how long an order has been in processing since an attempt to buy it began, excluding the time in
// which payments were stopped.
const processingFor = `CASE WHEN taken_by <> '' THEN clock_timestamp() - processing_since - (` + stoppedTime + ` - stopped_before) ELSE '0' END`

// Switches returns the switches, on or off.
func (s *Store) Switches(ctx context.Context) (Switches, error) {
	return readSwitches(ctx, s.db, allSwitches)
}

func readSwitches(ctx context.Context, db core.Session, query string) (Switches, error) {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return Switches{}, core.Unavailable(err)
	}
	both, err := collectSwitches(rows)
	return both, core.Unavailable(err)
}

func collectSwitches(rows pgx.Rows) (both Switches, err error) {
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[Switch])
	for _, row := range all {
		if row.Name == SwitchHold {
			both.Hold = row
		} else {
			both.Pause = row
		}
	}
	return both, err
}

// lockedSwitches locks the switches until the database transaction ends.
const lockedSwitches = allSwitches + ` FOR UPDATE`

// Pause stops all payments: once it returns, nothing more is signed. Signed payments are still followed until they are
// proven. A second pause changes nothing.
func (s *Store) Pause(ctx context.Context, by *int64, reason string) error {
	return s.db.Do(ctx, `UPDATE switches SET since = now(), by_user = $1, reason = $2 WHERE name = 'pause' AND since IS NULL`, by, reason)
}

// Resume ends the pause and the hold.
func (s *Store) Resume(ctx context.Context) error {
	return s.db.InTwoTrips(ctx, func(read *pgx.Batch) {
		read.Queue(lockedSwitches) // in the order of signatures, so that neither blocks the other
	}, func(_ core.Session, write *pgx.Batch) error {
		write.Queue(off, SwitchHold)
		write.Queue(off, SwitchPause)
		return nil
	})
}

// off ends a switch and counts its time, except what the other one counts.
const off = `UPDATE switches s SET since = NULL, reason = '', by_user = NULL, next_at = NULL, probes = 0, suspect = '', suspect_of = '',
	ended_at = CASE WHEN since IS NULL THEN ended_at ELSE clock_timestamp() END,
	stopped = stopped + coalesce((SELECT CASE WHEN other.since IS NULL THEN clock_timestamp() - s.since ELSE greatest(other.since - s.since, '0') END
		FROM switches other WHERE other.name <> s.name), '0') WHERE name = $1`

// The delay between two probes of a hold.
const (
	firstProbe = time.Second
	mostProbe  = 30 * time.Second
)

// Hold records that no purchase can succeed for now, and why. The begun order with the given hash, if any, keeps its
// state and makes no more requests; empty: none.
func (s *Store) Hold(ctx context.Context, reason, hash string) error {
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE switches SET since = coalesce(since, clock_timestamp()), reason = $1,
		next_at = coalesce(next_at, clock_timestamp() + $2::interval) WHERE name = 'hold'`, reason, firstProbe)
	batch.Queue(`UPDATE ton_wallets SET request_of = NULL, requested_at = NULL WHERE request_of = $1`, hash)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// TakeProbe reports whether the caller should probe now whether a hold's cause is gone: one caller at a time, at
// growing intervals.
func (s *Store) TakeProbe(ctx context.Context) (bool, error) {
	taken, err := core.Values[bool](ctx, s.db, `UPDATE switches SET probes = probes + 1,
			next_at = clock_timestamp() + least($1::interval * 2 ^ least(probes + 1, 16), $2)
		WHERE name = 'hold' AND since IS NOT NULL AND next_at <= clock_timestamp() RETURNING true`, firstProbe, mostProbe)
	return len(taken) > 0, err
}

// Suspect records an order's failure that the shop may have caused. If another order had the same one before, and none
// has succeeded since, the shop is at fault: payments are held.
func (s *Store) Suspect(ctx context.Context, hash, reason string) (held bool, err error) {
	return core.Value[bool](ctx, s.db, `UPDATE switches SET suspect = $1, suspect_of = $2,
			since = CASE WHEN suspect = $1 AND suspect_of <> $2 THEN coalesce(since, clock_timestamp()) ELSE since END,
			reason = CASE WHEN suspect = $1 AND suspect_of <> $2 THEN $1 ELSE reason END,
			next_at = CASE WHEN suspect = $1 AND suspect_of <> $2 THEN coalesce(next_at, clock_timestamp() + $3::interval) ELSE next_at END
		WHERE name = 'hold' RETURNING since IS NOT NULL`, reason, hash, firstProbe)
}

// EndHold ends a hold, and makes the orders whose last failure is one of these due for retry at once: the monitor
// notifies their workflows.
func (s *Store) EndHold(ctx context.Context, wallet string, failures []string) error {
	return s.db.InTwoTrips(ctx, func(read *pgx.Batch) {
		read.Queue(`SELECT 1 FROM ton_wallets WHERE address = $1 FOR UPDATE`, wallet)
		read.Queue(lockedSwitches)
	}, func(_ core.Session, write *pgx.Batch) error {
		write.Queue(off, SwitchHold)
		write.Queue(`UPDATE transactions SET retry_at = clock_timestamp(), workflow_started_at = NULL
			WHERE wallet = $1 AND `+retryPlanned+` AND retry_at > clock_timestamp() AND error_message = ANY ($2::text[])`, wallet, failures)
		return nil
	})
}
