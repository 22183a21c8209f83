package notice

import "stagecoach/internal/store/core"

// Kinds of alerts about transactions and their external systems.
const (
	AlertFragmentSession    = "fragment_session_expired" // purchases are held until it is renewed
	AlertFragmentAway       = "fragment_unreachable"     // for a long time
	AlertPaymentRefused     = "payment_check_failed"     // Fragment requests a payment that the service refuses to make
	AlertDailyLimit         = "daily_limit_reached"      // purchases are held for a while
	AlertWalletEmpty        = "wallet_balance_low"
	AlertTransactionStuck   = "transaction_stuck"
	AlertTransactionReview  = "transaction_needs_review"
	AlertTransactionGivenUp = "transaction_given_up" // the system has stopped retrying: an operator decides
	AlertRefund             = "refund_not_possible"
	// toncenter is unavailable, or a transaction is missing from its answers
	AlertChain      = "chain_not_followed"
	AlertChainClock = "chain_clock_wrong" // toncenter's time is too far from this machine's
	// a transfer whose message cannot be read: it becomes no order
	AlertChainMessage = "chain_message_unreadable"
)

var TransactionAlerts = []core.AlertKind{
	{Name: AlertFragmentSession, Severity: core.Page},
	{Name: AlertFragmentAway, Severity: core.Warn},
	{Name: AlertPaymentRefused, Severity: core.Page},
	{Name: AlertDailyLimit, Severity: core.Warn},
	{Name: AlertWalletEmpty, Severity: core.Page},
	{Name: AlertTransactionStuck, Severity: core.Page},
	{Name: AlertTransactionReview, Severity: core.Page},
	{Name: AlertTransactionGivenUp, Severity: core.Page},
	{Name: AlertRefund, Severity: core.Warn},
	{Name: AlertChain, Severity: core.Page},
	{Name: AlertChainClock, Severity: core.Page},
	{Name: AlertChainMessage, Severity: core.Warn},
}
