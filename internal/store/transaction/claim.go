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

const (
	// RequestTime is how long a request to Fragment without a signed payment excludes other orders' requests: longer than
	// its calls may take.
	RequestTime = time.Minute

	// ConfirmTime is how long a paid purchase excludes other requests until Fragment confirms it: Fragment may serve only
	// the session's last request.
	ConfirmTime = 30 * time.Second
)

var notFree = fault.New(fault.NoTurn, "the wallet is not free for this order").Retry()

// Gate holds what decides whether an order may be bought now, all as of the same moment.
type Gate struct {
	Transaction
	Switches
	Wallet Wallet
	// RetryIn is the remaining delay before a failed order's next retry; 0: it is over.
	RetryIn time.Duration
	// Left is the wallet's payment that takes precedence over any other: the one that the chain has not decided, else the
	// newest paid purchase whose order is in processing; nil: none.
	Left *Payment
	// ProbeIn is the remaining delay before a hold's next probe; 0: one is due.
	ProbeIn time.Duration
	// Requested means that another order's request to Fragment may be in flight.
	Requested bool
}

// Gate reads, in one round trip, what decides whether an order may be bought now.
func (s *Store) Gate(ctx context.Context, hash string) (g Gate, err error) {
	const wallet = `(SELECT wallet FROM transactions WHERE hash = $1)`
	batch := &pgx.Batch{}
	read(batch, &g.Transaction, noTransaction, byHash, hash)
	var times struct {
		RetryIn, ProbeIn time.Duration
		Requested        bool
	}
	read(batch, &times, noTransaction, `SELECT greatest(retry_at - clock_timestamp(), '0') AS retry_in, coalesce(request_of <> hash
			AND requested_at > clock_timestamp() - $2::interval, false) AS requested,
			(SELECT coalesce(greatest(next_at - clock_timestamp(), '0'), '0') FROM switches WHERE name = 'hold') AS probe_in
		FROM transactions JOIN ton_wallets ON address = wallet WHERE hash = $1`, hash, RequestTime)
	read(batch, &g.Wallet, noWallet, `SELECT `+walletColumns+` FROM ton_wallets WHERE address = `+wallet, hash)
	batch.Queue(allSwitches).Query(func(rows pgx.Rows) (err error) {
		g.Switches, err = collectSwitches(rows)
		return err
	})
	batch.Queue(`SELECT `+paymentColumns+` FROM payments WHERE id IN (
			SELECT id FROM payments WHERE wallet = `+wallet+` AND `+isSigned+`
			UNION ALL
			SELECT p.id FROM transactions t JOIN payments p ON p.transaction_hash = t.hash
			WHERE t.wallet = `+wallet+` AND t.`+isProcessing+` AND NOT t.needs_review
				AND p.live AND p.`+isPurchase+` AND p.`+isPaid+`
		) ORDER BY id DESC LIMIT 1`, hash).Query(func(rows pgx.Rows) error {
		payments, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Payment])
		if len(payments) > 0 {
			g.Left = payments[0]
		}
		return err
	})
	err = core.Unavailable(s.db.SendBatch(ctx, batch).Close())
	g.RetryIn, g.ProbeIn, g.Requested = times.RetryIn, times.ProbeIn, times.Requested
	return g, err
}

// read queues a statement that reads one row.
func read[T any](batch *pgx.Batch, row *T, none error, sql string, args ...any) {
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
		if errors.Is(err, pgx.ErrNoRows) {
			return none
		}
		return err
	})
}

// Claim identifies an attempt to buy. Each of the attempt's writes compares it with the row, so that an abandoned
// attempt cannot write.
type Claim struct {
	Hash    string
	Attempt int    // of the transaction, as seen by the attempt
	TakenBy string // as seen by the attempt; after Begin: its own name
}

func (w *writing) has(c Claim) bool { return w.Attempt == c.Attempt && w.TakenBy == c.TakenBy }

// Quote is what a transaction buys.
type Quote struct {
	Username  string // as parsed from the comment, without "@"
	Stars     int64  // 0: not yet known
	PriceNano int64  // 0: not yet known
	Recipient string // Fragment's name for the username
}

// Beginning is the first write of an attempt to buy.
type Beginning struct {
	Claim        // as seen by the gate
	By    string // the attempt's name
	Quote Quote  // what to buy
	Seqno uint32 // the wallet's next one according to the chain
	LT    int64  // of the wallet's last transaction at that time
	Probe bool   // it probes whether the cause of a hold is gone
	Most  Limits
}

// Begin claims an order for an attempt to buy it, and returns the number of the request that the attempt may make to
// Fragment with the wallet's session. The order enters processing; one waiting there is taken over without an event.
//
// Refusals: NO_TURN (the order has changed since the gate, another payment of the wallet is undecided or unconfirmed,
// or another order's request may be in flight), PAYMENTS_PAUSED, PAYMENTS_HELD (by the switch, or the record is behind
// the chain), REVIEW_REQUIRED, PAYMENT_LIMIT, DAILY_LIMIT (as a *DayIsFull), INVALID_TRANSITION (no retry is planned,
// or it is not due).
func (s *Store) Begin(ctx context.Context, b Beginning) (snapshot Snapshot, request int64, err error) {
	snapshot, err = s.write(ctx, b.Hash, func(w *writing) (err error) {
		if !w.has(b.Claim) {
			return notFree
		}
		if err := w.notStopped(ctx, b.Seqno, b.LT, !b.Probe); err != nil {
			return err
		}
		if err := w.enter(); err != nil {
			return err
		}
		if w.NeedsReview || w.spent() {
			return notFree
		}
		if err := w.reviewed(ctx, b.Most); err != nil {
			return err
		}
		if err := w.within(ctx, Purchase, b.Quote.PriceNano, b.Most); err != nil {
			return err
		}

		w.Stars, w.QuoteNano, w.Recipient, w.QuotedAt = b.Quote.Stars, b.Quote.PriceNano, b.Quote.Recipient, &w.Now
		number, stopped, err := w.takeRequest(ctx)
		if err != nil {
			return err
		}
		if w.TakenBy == "" {
			w.ProcessingSince, w.StoppedBefore, w.StuckAlertedAt = &w.Now, stopped, nil
		}
		w.TakenBy, w.Edited, request = b.By, true, number
		return nil
	})
	return snapshot, request, err
}

// enter moves an order to processing for an attempt to buy it: from the queue, or for a due retry. One already there
// stays.
func (w *writing) enter() error {
	switch w.State {
	case lifecycle.TransactionPending:
		return w.Take(TransactionStep{Action: lifecycle.TransactionActionLock})
	case lifecycle.TransactionFailed:
		if w.RetryAt != nil && w.RetryAt.After(w.Now) { // also of a failure that is reported again
			return fault.New(fault.InvalidTransition, "the next retry is not due yet").With("current", w.State)
		}
		return w.Take(TransactionStep{Action: lifecycle.TransactionActionRetry})
	case lifecycle.TransactionProcessing:
		return nil
	default:
		return notFree
	}
}

// takeRequest allows a request to Fragment, and returns its number: a caller that finds its own number to be the last
// knows that no later request was allowed until then. stopped is how long payments have been stopped in total.
func (w *writing) takeRequest(ctx context.Context) (number int64, stopped time.Duration, err error) {
	err = w.DB.QueryRow(ctx, `UPDATE ton_wallets SET requests = requests + 1, request_of = $2, requested_at = clock_timestamp()
		WHERE address = $1 AND (request_of IS NULL OR request_of = $2 OR requested_at <= clock_timestamp() - $3::interval)
			AND NOT EXISTS (SELECT 1 FROM payments WHERE wallet = $1 AND `+isSigned+`)
			AND NOT EXISTS (SELECT 1 FROM payments p JOIN transactions t ON t.hash = p.transaction_hash
				WHERE p.wallet = $1 AND p.live AND p.`+isPurchase+` AND p.`+isPaid+` AND p.request_number = requests AND t.`+isProcessing+`
					AND NOT t.needs_review AND p.settled_at > clock_timestamp() - $4::interval)
		RETURNING requests, `+stoppedTime, w.Address, w.Hash, RequestTime, ConfirmTime).Scan(&number, &stopped)
	if errors.Is(err, pgx.ErrNoRows) {
		err = notFree
	}
	return number, stopped, err
}

// closeRequest lets other orders make requests once this one makes no more.
func (w *writing) closeRequest(ctx context.Context) error {
	if w.RequestOf == nil || *w.RequestOf != w.Hash {
		return nil
	}
	w.RequestOf = nil
	_, err := w.DB.Exec(ctx, `UPDATE ton_wallets SET request_of = NULL, requested_at = NULL WHERE address = $1`, w.Address)
	return err
}

// QueueEntry is an order whose payment waits for the wallet, or holds it.
type QueueEntry struct {
	TransactionHash string      `db:"transaction_hash"`
	Kind            PaymentKind `db:"kind"`
	Sender          string      `db:"sender"`
	AskedAt         time.Time   `db:"asked_at"`
	GrantedAt       *time.Time  `db:"granted_at"` // nil: it waits
	NotBefore       *time.Time  `db:"not_before"` // until when it is deferred by the 24-hour limit; nil: it is not
	Place           int         `db:"place"`      // from 1
}

// PaymentQueue lists the orders whose payment waits for a wallet. The order that holds it comes first, and those
// deferred by the 24-hour limit last. Senders take turns: the task queue decides which of the others is next; the list
// shows them by time.
func (s *Store) PaymentQueue(ctx context.Context, wallet string, limit int) ([]QueueEntry, error) {
	return core.List[QueueEntry](ctx, s.db, `WITH waiting AS (
			SELECT t.hash AS transaction_hash, CASE WHEN refund_due_nano > 0 THEN `+core.Literal(Refund)+` ELSE `+core.Literal(Purchase)+` END AS kind,
				sender, CASE WHEN `+isPending+` THEN t.created_at ELSE coalesce(processing_since, t.updated_at) END AS asked_at,
				CASE WHEN w.request_of = t.hash THEN w.requested_at ELSE (SELECT max(p.created_at) FROM payments p
					WHERE p.transaction_hash = t.hash AND p.`+isSigned+`) END AS granted_at,
				CASE WHEN deferred_until > now() THEN deferred_until END AS not_before
			FROM transactions t JOIN ton_wallets w ON w.address = t.wallet WHERE t.wallet = $1 AND `+awaitsWallet+`
		)
		SELECT *, row_number() OVER (ORDER BY granted_at IS NULL, not_before IS NOT NULL, asked_at, transaction_hash)::int AS place
		FROM waiting ORDER BY place LIMIT $2`, wallet, limit)
}

// Defer records that a transaction's payment does not fit into the 24-hour limit before a time. Other orders pass it
// meanwhile, for a day at most.
func (s *Store) Defer(ctx context.Context, hash string, until time.Time) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.DeferredAt == nil {
			w.DeferredAt = &w.Now
		}
		w.DeferredUntil, w.Edited = &until, true
		return nil
	})
}

// Deferred lists the transactions whose payment is deferred by the 24-hour limit.
func (s *Store) Deferred(ctx context.Context) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT hash FROM transactions WHERE deferred_at IS NOT NULL AND deferred_until > now()
		ORDER BY deferred_at, hash LIMIT 10000`)
}

// AnyDeferred reports whether an order is deferred by the 24-hour limit.
func (s *Store) AnyDeferred(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions WHERE deferred_at IS NOT NULL AND deferred_until > now())`)
}
