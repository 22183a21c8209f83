package transaction

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// QueueEntry is an order that waits for the wallet's turn, or has it.
type QueueEntry struct {
	TransactionHash string      `db:"transaction_hash"`
	Kind            PaymentKind `db:"kind"`
	Wallet          string      `db:"wallet"`
	Sender          string      `db:"sender"`
	AskedAt         time.Time   `db:"asked_at"`
	GrantedAt       *time.Time  `db:"granted_at"` // nil: it waits
	Probe           bool        `db:"probe"`      // granted in spite of a hold, to test whether its cause is gone
	NotBefore       *time.Time  `db:"not_before"` // until when it waits for room in the day's limit; nil: it does not
	Place           int         `db:"place"`      // in PaymentQueue, from 1
}

const queueColumns = `q.transaction_hash, q.kind, q.wallet, q.sender, q.asked_at, q.granted_at, q.probe, q.not_before, 0 AS place`

var noEntry = fault.New(fault.NoTurn, "this order is not in line")

// EnterQueue puts an order in line for the wallet's turn, and grants the turn when no order is before it. An order that
// is in line already keeps its place. A purchase needs a transaction in processing, a refund needs a debt;
// PAYMENT_UNDECIDED: the order has a live payment.
func (s *Store) EnterQueue(ctx context.Context, hash string, kind PaymentKind) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		live, err := w.livePayment(ctx, kind)
		if err != nil {
			return err
		}
		if live != nil {
			return undecided(*live)
		}

		if err := w.May(queueing[kind]); err != nil {
			return err
		}

		_, err = w.DB.Exec(ctx, `INSERT INTO payment_queue (transaction_hash, kind, wallet, sender, asked_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, hash, kind, w.Address, w.Sender, w.Now)
		if err != nil {
			return err
		}
		if _, err = grantNext(ctx, w.DB, w.lockedWallet); err != nil {
			return err
		}

		// The caller gets the answer from this statement, so no notification is needed.
		turn, err := core.One[Turn](ctx, w.DB, noEntry, `UPDATE payment_queue SET told_at = CASE WHEN granted_at IS NOT NULL THEN $3::timestamptz END
			WHERE transaction_hash = $1 AND kind = $2 RETURNING kind, granted_at IS NOT NULL AS granted`, hash, kind, w.Now)
		w.Turn = &turn
		return err
	})
}

// The actions that put a payment of each kind in line, and that sign it.
var (
	queueing = map[PaymentKind]lifecycle.TransactionAction{
		Purchase: lifecycle.TransactionActionQueuePurchase, Refund: lifecycle.TransactionActionQueueRefund,
	}
	signingOf = map[PaymentKind]lifecycle.TransactionAction{
		Purchase: lifecycle.TransactionActionBuy, Refund: lifecycle.TransactionActionRefund,
	}
)

// livePayment returns the transaction's payment of a kind that is signed or paid; nil: there is none.
func (w *writing) livePayment(ctx context.Context, kind PaymentKind) (*Payment, error) {
	live, err := core.List[Payment](ctx, w.DB, livePayment, w.Hash, kind)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	return &live[0], nil
}

// GrantNext grants the wallet's turn to the next in line; nil: there is none, the turn is taken, or payments are
// stopped. Senders take turns, so that one sender's thousand transfers never delay another sender's single one.
func (s *Store) GrantNext(ctx context.Context, wallet string) (entry *QueueEntry, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		locked, err := lockWallet(ctx, tx, wallet)
		if err != nil {
			return err
		}
		entry, err = grantNext(ctx, tx, locked)
		return err
	})
	return entry, err
}

// order is the order of the turns: the longest wait since the request, or since the end of the sender's last turn,
// comes first. An order's rank never falls while it waits, unless another order of its sender is served, so no order
// waits for ever.
const order = `greatest(q.asked_at, coalesce(t.ended_at, '-infinity')), q.asked_at, q.transaction_hash, q.kind`

// mostPassing is how long other orders may pass an order that does not fit into the limit of 24 hours. Then the line
// waits behind it: paid amounts leave the limit within a day, so it fits within one more day.
const mostPassing = 24 * time.Hour

// eligible are orders with room in the day's limit, as far as known, and without an order before them that was passed
// for too long. $2 is now, $5 is mostPassing.
const eligible = `(q.not_before IS NULL OR q.not_before <= $2) AND NOT EXISTS (SELECT 1 FROM payment_queue passed
	WHERE passed.wallet = q.wallet AND passed.kind = q.kind AND passed.deferred_at <= $2 - $5::interval
	AND (passed.deferred_at, passed.transaction_hash) < (coalesce(q.deferred_at, 'infinity'), q.transaction_hash))`

func grantNext(ctx context.Context, tx core.Session, wallet lockedWallet) (*QueueEntry, error) {
	switches, err := lockSwitches(ctx, tx)
	if err != nil || switches.Pause.On() {
		return nil, err
	}

	held := switches.Hold.On()
	probing := held && switches.Hold.RetryAt != nil && !wallet.Now.Before(*switches.Hold.RetryAt)
	next, err := core.One[QueueEntry](ctx, tx, noEntry, `WITH next AS (
			SELECT q.transaction_hash, q.kind FROM payment_queue q LEFT JOIN payment_turns t USING (wallet, sender)
			WHERE q.wallet = $1 AND (q.`+isRefund+` OR $3) AND `+eligible+`
				AND NOT EXISTS (SELECT 1 FROM payment_queue WHERE wallet = $1 AND granted_at IS NOT NULL)
				AND NOT EXISTS (SELECT 1 FROM payments WHERE wallet = $1 AND `+isSigned+`)
			ORDER BY `+order+` LIMIT 1
		) UPDATE payment_queue q SET granted_at = $2, probe = $4 AND q.`+isPurchase+` FROM next
		WHERE q.transaction_hash = next.transaction_hash AND q.kind = next.kind RETURNING `+queueColumns,
		wallet.Address, wallet.Now, !held || probing, held, mostPassing)
	if errors.Is(err, noEntry) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	return &next, wakeForTurn(ctx, tx, wallet.Address)
}

// leave removes the transaction's orders from the line, except for those whose payment is signed. This ends a turn.
func (w *writing) leave(ctx context.Context, kinds ...PaymentKind) error {
	_, err := w.DB.Exec(ctx, `WITH gone AS (
			DELETE FROM payment_queue q WHERE transaction_hash = $1 AND kind = ANY ($2) AND NOT EXISTS (SELECT 1 FROM payments p
				WHERE p.transaction_hash = $1 AND p.kind = q.kind AND `+isSigned+`) RETURNING wallet, sender, granted_at
		) INSERT INTO payment_turns (wallet, sender, ended_at) SELECT DISTINCT wallet, sender, $3::timestamptz FROM gone WHERE granted_at IS NOT NULL
		ON CONFLICT (wallet, sender) DO UPDATE SET ended_at = EXCLUDED.ended_at`, w.Hash, kinds, w.Now)
	return err
}

// passTurn removes the transaction's orders from the line and grants the turn, if it is free now, to the next.
func (w *writing) passTurn(ctx context.Context, kinds ...PaymentKind) error {
	if err := w.leave(ctx, kinds...); err != nil {
		return err
	}
	_, err := grantNext(ctx, w.DB, w.lockedWallet)
	return err
}

// ReturnTurn returns an unused turn: the order waits again at its old place. It does not grant the turn to another
// order; GrantNext does, or the next read of the chain.
func (s *Store) ReturnTurn(ctx context.Context, hash string, kind PaymentKind) error {
	_, err := s.write(ctx, hash, func(w *writing) error { return w.returnTurn(ctx, kind, ``) })
	return err
}

// YieldTurn returns a turn as ReturnTurn does, and the order waits behind all others.
func (s *Store) YieldTurn(ctx context.Context, hash string, kind PaymentKind) error {
	_, err := s.write(ctx, hash, func(w *writing) error {
		return w.returnTurn(ctx, kind, `, asked_at = $3`, w.Now)
	})
	return err
}

// DeferTurn returns a turn that an order cannot use before a time, because it does not fit into the rest of the limit
// for 24 hours. Others pass it meanwhile, for a day at most.
func (s *Store) DeferTurn(ctx context.Context, hash string, kind PaymentKind, until time.Time) error {
	_, err := s.write(ctx, hash, func(w *writing) error {
		err := w.returnTurn(ctx, kind, `, deferred_at = coalesce(deferred_at, $3), not_before = $4`, w.Now, until)
		if err != nil {
			return err
		}
		_, err = grantNext(ctx, w.DB, w.lockedWallet)
		return err
	})
	return err
}

// returnTurn takes the turn from an order, and changes its place in the line by the SQL in more.
func (w *writing) returnTurn(ctx context.Context, kind PaymentKind, more string, args ...any) error {
	if err := w.unsigned(ctx, kind); err != nil {
		return err
	}
	_, err := w.DB.Exec(ctx, `UPDATE payment_queue SET granted_at = NULL, probe = false, told_at = NULL`+more+`
		WHERE transaction_hash = $1 AND kind = $2`, append([]any{w.Hash, kind}, args...)...)
	return err
}

// RetryDeferred lets all orders that wait for room in the limit for 24 hours try again: the limits may have changed.
func (s *Store) RetryDeferred(ctx context.Context) error {
	return s.db.Do(ctx, retryDeferred)
}

const retryDeferred = `UPDATE payment_queue SET not_before = NULL WHERE not_before IS NOT NULL`

// AnyDeferred reports whether an order waits for room in the limit for 24 hours.
func (s *Store) AnyDeferred(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM payment_queue WHERE not_before > now())`)
}

// LeaveQueue removes an order from the line, unless its payment is signed: then only the chain ends its turn.
func (s *Store) LeaveQueue(ctx context.Context, hash string, kind PaymentKind) error {
	_, err := s.write(ctx, hash, func(w *writing) error {
		if err := w.unsigned(ctx, kind); err != nil {
			return err
		}
		return w.passTurn(ctx, kind)
	})
	return err
}

// unsigned refuses while the order's payment is signed.
func (w *writing) unsigned(ctx context.Context, kind PaymentKind) error {
	live, err := w.livePayment(ctx, kind)
	if err == nil && live != nil && live.State == PaymentSigned {
		err = undecided(*live)
	}
	return err
}

// PaymentQueue lists a wallet's line in the order of the turns, the order that has the turn first.
func (s *Store) PaymentQueue(ctx context.Context, wallet string, limit int) ([]QueueEntry, error) {
	return core.List[QueueEntry](ctx, s.db, `WITH ranked AS (
			SELECT q.*, row_number() OVER (ORDER BY q.granted_at, coalesce(q.not_before > clock_timestamp(), false), `+order+`) AS rank
			FROM payment_queue q LEFT JOIN payment_turns t USING (wallet, sender) WHERE wallet = $1
		), line AS (
			SELECT *, row_number() OVER (PARTITION BY sender ORDER BY rank) AS turn, min(rank) OVER (PARTITION BY sender) AS sender_rank FROM ranked
		)
		SELECT transaction_hash, kind, wallet, sender, asked_at, granted_at, probe, not_before, row_number() OVER (ORDER BY granted_at IS NULL, turn, sender_rank)::int AS place
		FROM line ORDER BY place LIMIT $2`, wallet, limit)
}
