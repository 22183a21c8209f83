package transaction

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Conditions on a row of transactions, each defined once for all statements. The partial indexes need them verbatim:
// transactions_live, _retryable, _retry, _retry_at, _given_up, and payments_open_refunds.
var (
	// No attempt has ended.
	openOrder = `status IN ` + core.SetOf([]lifecycle.TransactionState{
		lifecycle.TransactionPending, lifecycle.TransactionProcessing,
	})
	isPending    = `status = ` + core.Literal(lifecycle.TransactionPending)
	isProcessing = `status = ` + core.Literal(lifecycle.TransactionProcessing)
	isFailed     = `status = ` + core.Literal(lifecycle.TransactionFailed)
	isProcessed  = `status = ` + core.Literal(lifecycle.TransactionProcessed)

	orderOrDebt  = openOrder + ` OR refund_due_nano > 0`
	mayBeRetried = isFailed + ` AND error_class <> ` + core.Literal(lifecycle.NonRetryable)
	retryPlanned = `retry_at IS NOT NULL`
	isGivenUp    = `given_up_at IS NOT NULL`

	// Money may still move for the order: it is neither processed nor failed for good without a debt.
	unfinished = `(` + openOrder + ` OR ` + mayBeRetried + ` OR ` + isFailed + ` AND refund_due_nano > 0)`

	// A payment of the order waits for the wallet.
	awaitsWallet = `NOT needs_review AND (refund_due_nano > 0 OR ` + openOrder + ` AND NOT EXISTS (
		SELECT 1 FROM payments p WHERE p.transaction_hash = hash AND p.` + isPurchase + ` AND p.` + isPaid + `))`

	spentPayments = core.SetOf([]PaymentState{PaymentSigned, PaymentPaid}) // may have moved money, or have

	// Conditions on a row of payments.
	isPurchase = `kind = ` + core.Literal(Purchase)
	isRefund   = `kind = ` + core.Literal(Refund)
	isSigned   = `state = ` + core.Literal(PaymentSigned)
	isPaid     = `state = ` + core.Literal(PaymentPaid)
	isBounced  = `state = ` + core.Literal(PaymentBounced)

	// Conditions on a row p of payments.
	spentPurchase      = `p.` + isPurchase + ` AND p.state IN ` + spentPayments
	openRefund         = `p.` + isRefund + ` AND p.live AND p.kept_at IS NULL`
	unresolvedPurchase = `p.` + isPurchase + ` AND p.` + isPaid + ` AND p.kept_at IS NULL` // by its destination
)

// Driven returns transactions by their workflows' keys. Served by the unique index on hash. A failed transaction and
// its workflow may wait for an operator's retry.
func (s *Store) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return s.db.DrivenByHash(ctx, keys, `SELECT hash AS key, hash AS entity, now() - updated_at AS changed, NOT (needs_review OR `+unfinished+`
			OR EXISTS (SELECT 1 FROM payments p WHERE p.transaction_hash = t.hash AND (p.`+isSigned+` OR `+openRefund+`))
		) AS over FROM transactions t WHERE hash = ANY ($1::text[])`)
}
