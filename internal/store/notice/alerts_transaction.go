package notice

// Kinds of alerts about transactions and the systems that they deal with.
const (
	AlertFragmentSession    = "fragment_session_expired" // purchases are held until it is renewed
	AlertFragmentAway       = "fragment_unreachable"     // for long
	AlertPaymentRefused     = "payment_check_failed"     // Fragment wants something paid that we do not pay
	AlertDailyLimit         = "daily_limit_reached"      // purchases are held for a while
	AlertWalletEmpty        = "wallet_balance_low"
	AlertTransactionStuck   = "transaction_stuck"
	AlertTransactionReview  = "transaction_needs_review"
	AlertTransactionGivenUp = "transaction_given_up" // the system has tried it again for long enough: an operator decides
	AlertRefund             = "refund_not_possible"
	// toncenter cannot be reached, or a transaction is missing in what it tells
	AlertChain      = "chain_not_followed"
	AlertChainClock = "chain_clock_wrong" // the time that toncenter tells is too far from ours

	AlertDeposit      = "deposit_disputed"          // a second source does not tell a large deposit as the first one did
	AlertSecondSource = "second_source_unreachable" // for long: large deposits wait
)

// TransactionAlerts lists them.
var TransactionAlerts = []string{
	AlertFragmentSession, AlertFragmentAway, AlertPaymentRefused, AlertDailyLimit, AlertWalletEmpty, AlertTransactionStuck,
	AlertTransactionReview, AlertTransactionGivenUp, AlertRefund, AlertChain, AlertChainClock, AlertDeposit,
	AlertSecondSource,
}
