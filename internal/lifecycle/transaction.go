package lifecycle

import (
	"time"

	"stagecoach/internal/fault"
)

// TransactionStuckAfter is how long a transaction may be in processing, excluding pauses and holds, before the
// administrators are alerted.
const TransactionStuckAfter = 30 * time.Minute

// TransactionState is a state of a transaction.
type TransactionState string

// The statuses of a transaction.
const (
	TransactionPending    TransactionState = "pending"
	TransactionProcessing TransactionState = "processing"
	TransactionProcessed  TransactionState = "processed"
	TransactionFailed     TransactionState = "failed"
)

// TransactionAction is an action on a transaction.
type TransactionAction string

// The actions of a transaction's table.
const (
	TransactionActionDetect   TransactionAction = "detect"
	TransactionActionLock     TransactionAction = "lock"
	TransactionActionBuy      TransactionAction = "buy"
	TransactionActionFinish   TransactionAction = "finish"
	TransactionActionFail     TransactionAction = "fail"
	TransactionActionRetry    TransactionAction = "retry"
	TransactionActionReview   TransactionAction = "review"
	TransactionActionResolve  TransactionAction = "resolve"
	TransactionActionRefund   TransactionAction = "refund"
	TransactionActionWriteOff TransactionAction = "write_off"
)

// ErrorClass determines whether a failed transaction may be retried.
type ErrorClass string

// Error classes; a transaction that has not failed has none.
const (
	Retryable    ErrorClass = "retryable"
	NonRetryable ErrorClass = "non-retryable"
	UnknownError ErrorClass = "unknown"
)

// Types of a transaction's events: first the transitions, then other facts.
const (
	TransactionDetected = "detected"
	TransactionLocked   = "locked"
	TransactionFinished = "processed"
	TransactionFailure  = "failed"
	TransactionRetried  = "retried"
	TransactionReviewed = "needs_review"
	TransactionResolved = "resolved"
	TransactionWriteOff = "written_off"
	TransactionDust     = "refund_kept" // the amount owed is not worth its gas
	TransactionStuck    = "stuck"
	TransactionGivenUp  = "given_up" // the system stops retrying: an operator is notified
	TransactionSigned   = "payment_signed"
	TransactionPaid     = "payment_paid"
	TransactionKept     = "payment_kept"
	TransactionDead     = "payment_dead"
	TransactionBounced  = "payment_bounced"
)

// TransactionOutcomes are the statuses to which a person may resolve a transaction that needs review.
var TransactionOutcomes = []TransactionState{TransactionProcessed, TransactionFailed, TransactionProcessing}

// Names used by operators and other programs. The updates are the actions retry and resolve.
const (
	TransactionType          = "Transaction"
	TransactionScope         = "money"   // of tokens that decide transactions and payments
	TransactionRetrySignal   = "retry"   // for operators: like the update, without an answer
	TransactionRefreshSignal = "refresh" // from the reconciler: the record may have changed
	TransactionStageSignal   = "stage"   // from an attempt that will be retried: what it has written

	TonMonitorType = "TonMonitor"

	// PaymentQueue is the task queue in which orders wait for the wallet: one slot per process.
	PaymentQueue = "payments"

	// RefundQueue is the task queue in which refunds wait for the wallet: one slot per process.
	RefundQueue = "refunds"

	// WalletQueue is the task queue of the activities that follow the wallet and its payments.
	WalletQueue = "wallet"
)

// PaymentQueues are served by processes that hold the wallet's key and Fragment's session.
var PaymentQueues = []string{PaymentQueue, RefundQueue, WalletQueue}

// TonMonitorID is the id of the workflow that monitors a wallet.
func TonMonitorID(wallet string) string { return "ton-monitor/" + wallet }

const TonMonitorTitle = "Watches the wallet on the chain"

// TransactionFacts are what the guards check.
type TransactionFacts struct {
	Class       ErrorClass // of the failure
	NeedsReview bool
	Signed      bool // a purchase is signed but not decided by the chain
	Paid        bool // a purchase was paid
	Kept        bool // … and its receiver kept the money
	Owed        bool // money is owed to the sender and not in transit
	Priced      bool // the price of the Stars is known
	Planned     bool // the system has planned a retry
	MayGoOn     bool // the review is about the deposit, or was requested by an administrator
}

type transactionGuard = Guard[TransactionFacts]

// Guards, and an action's from and who, as used by the table.
var (
	nothingSpent = transactionGuard{Name: "no purchase is signed or paid", Code: fault.PaymentUndecided, Holds: func(f TransactionFacts) bool { return !f.Signed && !f.Paid }}
	purchased    = transactionGuard{Name: "a purchase is signed or paid", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Signed || f.Paid }}
	bought       = transactionGuard{Name: "a purchase is paid, and kept by its receiver", Code: fault.PaymentUndecided, Holds: func(f TransactionFacts) bool { return f.Paid && f.Kept }}
	paid         = transactionGuard{Name: "a purchase is paid", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Paid }}
	decided      = transactionGuard{Name: "no purchase is signed", Code: fault.PaymentUndecided, Holds: func(f TransactionFacts) bool { return !f.Signed }}
	mayPass      = transactionGuard{Name: "a retryable or unknown failure", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Class != NonRetryable }}
	noReview     = transactionGuard{Name: "no open review", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return !f.NeedsReview }}
	inReview     = transactionGuard{Name: "an open review", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.NeedsReview }}
	mayGoOn      = transactionGuard{Name: "the review is about the deposit, or an administrator has asked for it", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.MayGoOn }}
	priced       = transactionGuard{Name: "the price is known", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Priced }}
	planned      = transactionGuard{Name: "the next try is planned", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Planned }}
	owed         = transactionGuard{Name: "money is owed to the sender, and not on its way", Code: fault.InvalidTransition, Holds: func(f TransactionFacts) bool { return f.Owed }}

	Administrators = []Role{Admin}

	pending    = []TransactionState{TransactionPending}
	processing = []TransactionState{TransactionProcessing}
	processed  = []TransactionState{TransactionProcessed}
	failed     = []TransactionState{TransactionFailed}
)

const flagOn = "only needs_review is added: the chain contradicts the record, or a refund needs a review"

const flagOff = "the order has ended already: only needs_review is removed"

// Transaction is the lifecycle of a transaction. All transitions follow this table.
var Transaction = Table[TransactionState, TransactionAction, TransactionFacts]{
	Entity: "transaction",
	States: []State[TransactionState]{
		{State: TransactionPending, Means: "a transfer to the wallet was found; the order waits in the line for the wallet", LeftBy: "its workflow, when an attempt to buy begins"},
		{State: TransactionProcessing, Means: "the Stars are being bought; with needs_review an operator must decide", LeftBy: "its workflow; an operator when it needs review"},
		{State: TransactionProcessed, Means: "the Stars are bought: fragment_transaction_hash is our payment", Terminal: true},
		{State: TransactionFailed, Means: "nothing was bought; the error is recorded", LeftBy: "the system for a time, then an operator, unless the error is non-retryable"},
	},
	Rules: []Rule[TransactionState, TransactionAction, TransactionFacts]{
		{Action: TransactionActionDetect, To: TransactionPending, Who: systemOnly, Event: TransactionDetected, Effect: "a known hash changes nothing"},
		{Action: TransactionActionLock, From: pending, To: TransactionProcessing, Who: systemOnly, Event: TransactionLocked, Effect: "attempt = 1"},
		{Action: TransactionActionBuy, From: processing, To: TransactionProcessing, Who: systemOnly, Guards: []transactionGuard{noReview, priced, nothingSpent}, Event: TransactionSigned, Effect: "the one payment of this try is signed and recorded, before its bytes leave the program"},
		{Action: TransactionActionFinish, From: processing, To: TransactionProcessed, Who: systemOnly, Guards: []transactionGuard{purchased, bought, noReview}, Event: TransactionFinished, Effect: "Fragment says that the Stars are sent; the hash of our payment is kept"},
		{Action: TransactionActionFail, From: processing, To: TransactionFailed, Who: systemOnly, Guards: []transactionGuard{nothingSpent, noReview}, Event: TransactionFailure, Effect: "error_message and error_class are recorded; with the setting a non-retryable one is refunded"},
		{Action: TransactionActionRetry, From: failed, To: TransactionProcessing, Who: Administrators, Guards: []transactionGuard{mayPass, nothingSpent}, Event: TransactionRetried, Effect: "attempt + 1"},
		{Action: TransactionActionRetry, From: failed, To: TransactionProcessing, Who: systemOnly, Guards: []transactionGuard{planned, mayPass, nothingSpent}, Event: TransactionRetried, Effect: "attempt + 1, at the time that was planned with the failure; a review ends the plan"},
		{Action: TransactionActionReview, From: processing, To: TransactionProcessing, Who: systemOnly, Event: TransactionReviewed, Effect: "needs_review: nothing is bought until an operator has resolved it"},
		{Action: TransactionActionReview, From: processing, To: TransactionProcessing, Who: Administrators, Guards: []transactionGuard{noReview}, Event: TransactionReviewed, Effect: "the same, as an administrator asks for it: what is signed is still decided by the chain"},
		{Action: TransactionActionReview, From: pending, To: TransactionProcessing, Who: Administrators, Guards: []transactionGuard{noReview}, Event: TransactionReviewed, Effect: "the same for an order in the line: attempt = 1"},
		{Action: TransactionActionReview, From: processed, To: TransactionProcessed, Who: systemOnly, Event: TransactionReviewed, Effect: flagOn},
		{Action: TransactionActionReview, From: failed, To: TransactionFailed, Who: systemOnly, Event: TransactionReviewed, Effect: flagOn},
		{Action: TransactionActionResolve, From: processing, To: TransactionProcessed, Who: Administrators, Guards: []transactionGuard{inReview, decided, paid}, Event: TransactionResolved},
		{Action: TransactionActionResolve, From: processing, To: TransactionFailed, Who: Administrators, Guards: []transactionGuard{inReview, decided}, Event: TransactionResolved, Effect: "final: it is never bought again; after payment_lost it may be retried, because the lost payment bought another order"},
		{Action: TransactionActionResolve, From: processing, To: TransactionProcessing, Who: Administrators, Guards: []transactionGuard{inReview, mayGoOn, decided}, Event: TransactionResolved, Effect: "the order goes on; a deposit is confirmed by it"},
		{Action: TransactionActionResolve, From: processed, To: TransactionProcessed, Who: Administrators, Guards: []transactionGuard{inReview, decided}, Event: TransactionResolved, Effect: flagOff},
		{Action: TransactionActionResolve, From: failed, To: TransactionFailed, Who: Administrators, Guards: []transactionGuard{inReview, decided}, Event: TransactionResolved, Effect: flagOff},
		{Action: TransactionActionRefund, From: failed, To: TransactionFailed, Who: systemOnly, Guards: []transactionGuard{noReview, owed, nothingSpent}, Event: TransactionSigned, Effect: "the one payment to the sender is signed and recorded"},
		{Action: TransactionActionWriteOff, From: failed, To: TransactionFailed, Who: Administrators, Guards: []transactionGuard{owed}, Event: TransactionWriteOff, Effect: "the money that is owed to the sender stays in the wallet"},
	},
}

type TransactionRequest = Request[TransactionState, TransactionAction]
