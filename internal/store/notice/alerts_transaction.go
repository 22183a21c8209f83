package notice

// Kinds of alerts about transactions and their outside systems.
const (
	AlertFragmentSession    = "fragment_session_expired" // purchases are held until it is renewed
	AlertFragmentAway       = "fragment_unreachable"     // for long
	AlertPaymentRefused     = "payment_check_failed"     // Fragment requests a payment that the service does not make
	AlertDailyLimit         = "daily_limit_reached"      // purchases are held for a while
	AlertWalletEmpty        = "wallet_balance_low"
	AlertTransactionStuck   = "transaction_stuck"
	AlertTransactionReview  = "transaction_needs_review"
	AlertTransactionGivenUp = "transaction_given_up" // the system has stopped retrying: an operator decides
	AlertRefund             = "refund_not_possible"
	// toncenter is unavailable, or a transaction is missing in its answers
	AlertChain      = "chain_not_followed"
	AlertChainClock = "chain_clock_wrong" // toncenter's time is too far from this machine's
	// a transfer whose message cannot be read: no order is made of it
	AlertChainMessage = "chain_message_unreadable"
)

// TransactionAlerts lists them.
var TransactionAlerts = []string{
	AlertFragmentSession, AlertFragmentAway, AlertPaymentRefused, AlertDailyLimit, AlertWalletEmpty, AlertTransactionStuck,
	AlertTransactionReview, AlertTransactionGivenUp, AlertRefund, AlertChain, AlertChainClock,
	AlertChainMessage,
}
