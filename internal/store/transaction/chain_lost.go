package transaction

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// A payment is lost if the chain has it and the record does not: the record was restored to an earlier state, or
// another program has the wallet's key. The chain does not show what the payment was for.

// lost handles an external message that the wallet executed and that is none of our payments. It may have paid for any
// older unfinished transaction, so none of them is paid again until a person has checked it.
func (in *ingest) lost(ctx context.Context, t ChainTransaction) error {
	if t.ComputeOK {
		in.NextSeqno++
	}

	if t.sent() == 0 {
		return nil
	}

	hashes, err := core.Values[string](ctx, in.tx, `SELECT hash FROM transactions t WHERE wallet = $1 AND lt < $2 AND NOT needs_review
		AND `+unfinished+`
		AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.transaction_hash = t.hash AND `+spentPurchase+`)
		ORDER BY id`, in.Address, t.LT)
	if err != nil {
		return err
	}

	for _, hash := range hashes {
		err := writeIn(ctx, in.tx, hash, func(w *writing) error {
			if err := passedOver(w.Take(TransactionStep{Action: lifecycle.TransactionActionLock})); err != nil {
				return err
			}
			return w.review(ctx, ReviewLost)
		})
		if err != nil {
			return err
		}
	}

	in.brought.Lost = append(in.brought.Lost, hashes...)
	return nil
}

// adopt makes a lost payment this transaction's purchase, as decided by a person. The hash names a transaction of the
// wallet on the chain that sent one message, like each of our payments.
func (w *writing) adopt(ctx context.Context, hash string) (chainHash string, err error) {
	var nano, lt int64
	err = w.DB.QueryRow(ctx, `INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination,
			amount_nano, reserved_nano, body_hash, state, chain_lt, chain_hash, paid_nano, gas_nano, out_hash, settled_at, kept_at, created_at)
		SELECT `+core.Literal(Purchase)+`, $3, $4, c.wallet, w.next_seqno - (SELECT count(*) FROM chain_transactions l
				WHERE l.wallet = c.wallet AND l.lt >= c.lt AND l.in_hash_norm <> '' AND l.computed), c.at, '', in_hash_norm, out_destination,
			out_nano, out_nano, out_body_hash, `+core.Literal(PaymentPaid)+`, c.lt, c.hash, out_nano, fee_nano, out_hash, $5, $5, $5
		FROM chain_transactions c JOIN ton_wallets w ON w.address = c.wallet
		WHERE c.wallet = $1 AND c.hash = $2 AND c.lt > $6 AND in_hash_norm <> '' AND out_count = 1 AND out_nano > 0 AND means = 'other'
		RETURNING paid_nano, chain_lt, chain_hash`, w.Address, hash, w.Hash, w.Attempt, w.Now, w.LT).Scan(&nano, &lt, &chainHash)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fault.Invalid(
			"payment", "this is no payment on the chain that the record lacks and that may have been for this transaction",
		)
	}

	if err != nil {
		return "", err
	}
	if _, err := w.DB.Exec(ctx, `UPDATE chain_transactions SET means = 'payment' WHERE wallet = $1 AND lt = $2`, w.Address, lt); err != nil {
		return "", err
	}

	cause := "lost/" + w.Address + "/" + strconv.FormatInt(lt, 10)
	return chainHash, post(ctx, w.DB, w.Address, &w.Hash, cause, amounts{AccountOther: -nano, goneTo(Purchase): nano})
}

// SmallTransferNotices are notifications of transfers below the minimum. Such a notification's entity is the
// transaction on the chain; it has no event.
const SmallTransferNotices = "small_transfer"

// A person gets one notification of a small transfer in this time, and none of an older one, because anyone can send a
// few coins with any username.
const smallTransferPause = `interval '24 hours'`

// tooSmall plans the notification, to the recipient it names, that a transfer below the minimum is no order. The
// primary key finds one person's notifications; the wallet's lock serializes the transfers.
func (in *ingest) tooSmall(ctx context.Context, t ChainTransaction) error {
	if t.Aborted && len(t.Out) > 0 || t.In.Source == "" || t.In.Source == in.Address {
		return nil // it was sent back, or names no person
	}
	_, err := in.tx.Exec(ctx, `INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $1, $2, 1, now() FROM users u WHERE u.username = $3 AND u.telegram_id IS NOT NULL
			AND $4::timestamptz > now() - `+smallTransferPause+` AND NOT EXISTS (
				SELECT 1 FROM news n WHERE n.user_id = u.id AND n.workload = $1 AND n.due_at > now() - `+smallTransferPause+`)
		ON CONFLICT DO NOTHING`, SmallTransferNotices, t.Hash, account.PlainUsername(t.TooSmallFor), t.At)
	return err
}
