package store

import "stagecoach/internal/lifecycle"

// Conditions on a row of transactions, each said once for all statements. The partial indexes need them word by word:
// transactions_live, _retryable, _retry, _given_up, and payments_open_refunds.
var (
	// No try has ended.
	openOrder = `status IN ` + setOf([]lifecycle.TransactionState{
		lifecycle.TransactionPending, lifecycle.TransactionProcessing,
	})
	isProcessing = `status = ` + literal(lifecycle.TransactionProcessing)
	isFailed     = `status = ` + literal(lifecycle.TransactionFailed)
	isProcessed  = `status = ` + literal(lifecycle.TransactionProcessed)

	mayBeRetried = isFailed + ` AND error_class <> ` + literal(lifecycle.NonRetryable)
	retryPlanned = isFailed + ` AND retry_of = attempt AND retry_at IS NOT NULL`
	isGivenUp    = isFailed + ` AND retry_of = attempt AND given_up_at IS NOT NULL`

	// Money may still move for the order: it is not processed, nor failed for good with nothing owed.
	unfinished = `(` + openOrder + ` OR ` + mayBeRetried + ` OR ` + isFailed + ` AND refund_due_nano > 0)`

	spentPayments = setOf([]PaymentState{PaymentSigned, PaymentPaid}) // that may have moved money, or have

	// Conditions on a row p of payments.
	spentPurchase = `p.kind = ` + literal(Purchase) + ` AND p.state IN ` + spentPayments
	openRefund    = `p.kind = ` + literal(Refund) + ` AND p.live AND p.kept_at IS NULL`
	unheardOf     = `p.kind = ` + literal(Purchase) + ` AND p.state = ` + literal(PaymentPaid) + ` AND p.kept_at IS NULL` // by its destination
)
