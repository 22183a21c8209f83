package fault

// A payment is refused.
const (
	TransactionNotFound Code = "TRANSACTION_NOT_FOUND"
	ReceiptNotFound     Code = "RECEIPT_NOT_FOUND"
	WalletNotFound      Code = "WALLET_NOT_FOUND"    // its record was never begun
	PaymentUndecided    Code = "PAYMENT_UNDECIDED"   // signed or paid: only the chain, or an operator, can decide
	NoTurn              Code = "NO_TURN"             // another payment comes first
	PaymentsPaused      Code = "PAYMENTS_PAUSED"     // by an operator
	PaymentsHeld        Code = "PAYMENTS_HELD"       // by the system
	PaymentLimit        Code = "PAYMENT_LIMIT"       // for one purchase
	PaymentNotAllowed   Code = "PAYMENT_NOT_ALLOWED" // to an address that is not on the list
	DailyLimit          Code = "DAILY_LIMIT"         // for all purchases
	InsufficientFunds   Code = "INSUFFICIENT_FUNDS"  // in the wallet, besides what is owed to others
	ChainGap            Code = "CHAIN_GAP"           // a transaction is missing between two known ones
)
