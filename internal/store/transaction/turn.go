package transaction

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Turn is a claim of the right to pay with a wallet. Whoever claims it later has a higher token, and every write of an
// earlier holder is refused with NO_TURN.
type Turn struct {
	Hash  string // of the transaction
	Token int64
}

// turnTime is how long a claim lasts when its holder is not heard of: longer than a step between two writes takes.
const turnTime = time.Minute

// TurnRenewal is how often the holder of a turn has to call KeepTurn.
const TurnRenewal = turnTime / 3

var noTurn = fault.New(fault.NoTurn, "it is not this order's turn to pay").Retry()

// ClaimTurn claims the turn of a transaction's wallet. It takes the turn over from an earlier claim for the same
// transaction, whose worker is lost, and is refused with NO_TURN while another transaction has it.
func (s *Store) ClaimTurn(ctx context.Context, hash string) (Turn, error) {
	token, err := s.inTurn(ctx, `UPDATE ton_wallets SET turn_of = $1, turn_token = turn_token + 1,
			turn_at = clock_timestamp(), turn_until = clock_timestamp() + $2::interval
		WHERE address = (SELECT wallet FROM transactions WHERE hash = $1)
			AND (turn_of IS NULL OR turn_of = $1 OR turn_until < clock_timestamp()) RETURNING turn_token`, hash, turnTime)
	return Turn{Hash: hash, Token: token}, err
}

// inTurn returns the number of a statement that changes the wallet of the turn's holder; NO_TURN: it has changed none.
func (s *Store) inTurn(ctx context.Context, sql string, args ...any) (int64, error) {
	numbers, err := core.Values[int64](ctx, s.db, sql, args...)
	if err == nil && len(numbers) == 0 {
		err = noTurn
	}
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

// KeepTurn prolongs a claim. NO_TURN: it is lost.
func (s *Store) KeepTurn(ctx context.Context, turn Turn) error {
	_, err := s.inTurn(ctx, `UPDATE ton_wallets SET turn_until = clock_timestamp() + $3::interval
		WHERE turn_of = $1 AND turn_token = $2 RETURNING turn_token`, turn.Hash, turn.Token, turnTime)
	return err
}

// LeaveTurn ends a claim. It does nothing when the claim is lost.
func (s *Store) LeaveTurn(ctx context.Context, turn Turn) error {
	return s.db.Do(ctx, `UPDATE ton_wallets SET `+turnIsFree+` WHERE turn_of = $1 AND turn_token = $2`, turn.Hash, turn.Token)
}

const turnIsFree = `turn_of = NULL, turn_at = NULL, turn_until = NULL`

// mustHave refuses what only the holder of a turn may do.
func (w *writing) mustHave(turn Turn) error {
	if w.TurnOf == nil || *w.TurnOf != turn.Hash || w.TurnToken != turn.Token {
		return noTurn
	}
	return nil
}

// freeTurn ends the turn of the transaction, whoever holds it.
func (w *writing) freeTurn(ctx context.Context) error {
	if w.TurnOf == nil || *w.TurnOf != w.Hash {
		return nil
	}
	_, err := w.DB.Exec(ctx, `UPDATE ton_wallets SET `+turnIsFree+` WHERE address = $1`, w.Address)
	return err
}

// NextRequest returns the number of the request that is made to Fragment next with a wallet's session. It is taken before
// the request, so that whoever finds its own number to be the last knows that no later request was made until then.
// Requests are made one after the other, by the holders of the turn.
func (s *Store) NextRequest(ctx context.Context, turn Turn) (int64, error) {
	return s.inTurn(ctx, `UPDATE ton_wallets SET requests = requests + 1
		WHERE turn_of = $1 AND turn_token = $2 RETURNING requests`, turn.Hash, turn.Token)
}

// SignedPayment returns the one payment of a transaction's wallet that the chain has not decided; nil: there is none.
func (s *Store) SignedPayment(ctx context.Context, hash string) (*Payment, error) {
	payment, err := core.One[Payment](ctx, s.db, noPayment, `SELECT `+paymentColumns+` FROM payments
		WHERE wallet = (SELECT wallet FROM transactions WHERE hash = $1) AND `+isSigned, hash)
	if errors.Is(err, noPayment) {
		return nil, nil
	}
	return &payment, err
}

// UnfinishedPayment returns the payment of a transaction's wallet that comes before any other: the one that the chain has
// not decided, else the newest purchase that is paid and whose order is in processing; nil: there is none.
func (s *Store) UnfinishedPayment(ctx context.Context, hash string) (*Payment, error) {
	payments, err := core.List[Payment](ctx, s.db, `SELECT `+paymentColumns+` FROM payments WHERE id IN (
			SELECT id FROM payments WHERE wallet = (SELECT wallet FROM transactions WHERE hash = $1) AND `+isSigned+`
			UNION ALL
			SELECT p.id FROM transactions t JOIN payments p ON p.transaction_hash = t.hash
			WHERE t.wallet = (SELECT wallet FROM transactions WHERE hash = $1) AND t.`+isProcessing+` AND NOT t.needs_review
				AND p.live AND p.`+isPurchase+` AND p.`+isPaid+`
		) ORDER BY id DESC LIMIT 1`, hash)
	if err != nil || len(payments) == 0 {
		return nil, err
	}
	return &payments[0], nil
}

// QueueEntry is an order whose payment waits for the wallet's turn, or has it.
type QueueEntry struct {
	TransactionHash string      `db:"transaction_hash"`
	Kind            PaymentKind `db:"kind"`
	Sender          string      `db:"sender"`
	AskedAt         time.Time   `db:"asked_at"`
	GrantedAt       *time.Time  `db:"granted_at"` // nil: it waits
	NotBefore       *time.Time  `db:"not_before"` // until when it waits for room in the limit for 24 hours; nil: it does not
	Place           int         `db:"place"`      // from 1
}

// PaymentQueue lists the orders whose payment waits for a wallet's turn. The order that has the turn comes first, and
// those that wait for room in the limit for 24 hours last. Senders take turns: which of the others is next is decided by
// the task queue, and the list has them by their time.
func (s *Store) PaymentQueue(ctx context.Context, wallet string, limit int) ([]QueueEntry, error) {
	return core.List[QueueEntry](ctx, s.db, `WITH waiting AS (
			SELECT t.hash AS transaction_hash, CASE WHEN `+isProcessing+` THEN `+core.Literal(Purchase)+` ELSE `+core.Literal(Refund)+` END AS kind,
				sender, CASE WHEN `+isProcessing+` THEN processing_since ELSE t.updated_at END AS asked_at,
				CASE WHEN w.turn_of = t.hash THEN w.turn_at END AS granted_at, CASE WHEN deferred_until > now() THEN deferred_until END AS not_before
			FROM transactions t JOIN ton_wallets w ON w.address = t.wallet WHERE t.wallet = $1 AND (`+awaitsTurn+` OR w.turn_of = t.hash)
		)
		SELECT *, row_number() OVER (ORDER BY granted_at IS NULL, not_before IS NOT NULL, asked_at, transaction_hash)::int AS place
		FROM waiting ORDER BY place LIMIT $2`, wallet, limit)
}

// Defer records that a payment of a transaction does not fit into the rest of the limit for 24 hours before a time. Other
// orders pass it meanwhile, for a day at most.
func (s *Store) Defer(ctx context.Context, hash string, until time.Time) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.DeferredAt == nil {
			w.DeferredAt = &w.Now
		}
		w.DeferredUntil, w.Edited = &until, true
		return nil
	})
}

// Deferred lists the transactions whose payment waits for room in the limit for 24 hours.
func (s *Store) Deferred(ctx context.Context) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT hash FROM transactions WHERE deferred_at IS NOT NULL AND deferred_until > now()
		ORDER BY deferred_at, hash LIMIT 10000`)
}

// AnyDeferred reports whether an order waits for room in the limit for 24 hours.
func (s *Store) AnyDeferred(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions WHERE deferred_at IS NOT NULL AND deferred_until > now())`)
}
