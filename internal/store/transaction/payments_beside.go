package transaction

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// processSilence is how long a process that serves payments may be silent until it counts as gone.
const processSilence = time.Minute

// OrdersBeside returns up to limit orders whose purchases may share a message with that of an order that has the turn:
// those in line behind it that are quoted, in the order of their turns. Senders take turns here, too.
func (s *Store) OrdersBeside(ctx context.Context, wallet, hash string, limit int) ([]string, error) {
	return core.Values[string](ctx, s.db, `WITH ranked AS (
			SELECT q.transaction_hash, q.sender, q.granted_at, row_number() OVER (ORDER BY q.granted_at, `+order+`) AS rank
			FROM payment_queue q LEFT JOIN payment_turns t USING (wallet, sender)
			WHERE q.wallet = $1 AND q.`+isPurchase+` AND (q.transaction_hash = $4 OR q.granted_at IS NULL AND `+eligible+`)
		), line AS (
			SELECT *, row_number() OVER (PARTITION BY sender ORDER BY rank) AS turn, min(rank) OVER (PARTITION BY sender) AS sender_rank FROM ranked
		) SELECT transaction_hash FROM line JOIN transactions ON hash = transaction_hash
		WHERE granted_at IS NULL AND quote_nano > 0 AND NOT needs_review ORDER BY turn, sender_rank LIMIT $3`,
		wallet, time.Now(), limit, hash, mostPassing)
}

// admitBeside returns the orders that the message pays: this one, and those beside it that are allowed now.
func (s *signing) admitBeside(ctx context.Context, beside []PaymentOrder, limits Limits) ([]PaymentOrder, error) {
	orders := []PaymentOrder{s.want}
	if len(beside) == 0 || s.probe || !s.want.Shared {
		return orders, nil
	}
	if able, err := s.partsAreKnown(ctx); err != nil || !able {
		return orders, err
	}

	amount, reserved := s.want.AmountNano, s.reserved
	for _, want := range beside {
		other := signing{want: want, amountBefore: amount, reservedBefore: reserved}
		err := writeIn(ctx, s.DB, want.Hash, func(w *writing) error {
			other.writing = w
			if err := other.admitPart(ctx, orders, limits); err != nil {
				return err
			}
			return admitted
		})

		switch {
		case errors.Is(err, admitted):
			orders = append(orders, want)
			amount, reserved = amount+want.AmountNano, reserved+other.reserved
		case fault.As(err) == nil:
			return nil, err
		}
	}

	return orders, nil
}

// admitted ends a check that writes nothing.
var admitted = fault.New(fault.Internal, "the order is admitted")

// admitPart checks what must hold for an order that has no turn of its own. The switches are checked, and locked, for
// the order that has it.
func (s *signing) admitPart(ctx context.Context, before []PaymentOrder, limits Limits) error {
	if s.want.Kind != Purchase || !s.want.Shared {
		return fault.Invalid("kind", "only purchases that share the wallet share a message")
	}
	for _, other := range before { // the chain could not tell them apart
		if other.Hash == s.want.Hash || other.Destination == s.want.Destination && other.AmountNano == s.want.AmountNano && other.BodyHash == s.want.BodyHash {
			return fault.Invalid("body", "another payment of the message is equal")
		}
	}

	if err := s.due(); err != nil {
		return err
	}

	waits, err := core.Value[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM payment_queue
		WHERE transaction_hash = $1 AND `+isPurchase+` AND wallet = $2 AND granted_at IS NULL)`, s.Hash, s.Address)
	if err != nil {
		return err
	}
	if !waits {
		return fault.New(fault.NoTurn, "it is not in line")
	}
	return s.affordable(ctx, limits)
}

// partsAreKnown reports whether every live process that may settle payments knows of parts.
func (s *signing) partsAreKnown(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.DB, `SELECT NOT EXISTS (SELECT 1 FROM processes
		WHERE service = 'worker' AND beat_at > now() - $1::interval AND NOT $2 = ANY (capabilities))`, processSilence, core.CapabilityParts)
}

// recordBeside stores the payments of the orders after the first, and gives them the turn that they share.
func (s *signing) recordBeside(ctx context.Context, m message, orders []PaymentOrder) error {
	for i, want := range orders[1:] {
		part := i + 1
		err := writeIn(ctx, s.DB, want.Hash, func(w *writing) error {
			other := signing{writing: w, want: want}
			if err := other.due(); err != nil {
				return err
			}
			if _, err := other.record(ctx, m, part); err != nil {
				return err
			}

			_, err := w.DB.Exec(ctx, `UPDATE payment_queue SET granted_at = $2, part = $3, told_at = NULL
				WHERE transaction_hash = $1 AND `+isPurchase, w.Hash, w.Now, part)
			return err
		})
		if err != nil {
			return err
		}
	}

	if len(orders) == 1 {
		return nil
	}
	return wakeForTurn(ctx, s.DB, s.Address)
}
