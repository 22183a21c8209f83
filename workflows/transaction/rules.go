package transaction

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// Facts are what the guards look at.
type Facts struct {
	Class       store.ErrorClass // of the failure
	NeedsReview bool
	Signed      bool // a purchase is signed and the chain has not decided
	Paid        bool // a purchase was paid
	Kept        bool // … and its receiver kept the money
	Owed        bool // money is owed to the sender, and not on its way
	Disputed    bool // the review is about the deposit: a second source does not tell it as the first one did
}

type guard = lifecycle.Guard[Facts]

// Guards, and an action's from and who, as the table uses them.
var (
	nothingSpent = guard{Name: "no purchase is signed or paid", Code: fault.PaymentUndecided, Holds: func(f Facts) bool { return !f.Signed && !f.Paid }}
	bought       = guard{Name: "a purchase is paid, and kept by its receiver", Code: fault.PaymentUndecided, Holds: func(f Facts) bool { return f.Paid && f.Kept }}
	paid         = guard{Name: "a purchase is paid", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return f.Paid }}
	decided      = guard{Name: "no purchase is signed", Code: fault.PaymentUndecided, Holds: func(f Facts) bool { return !f.Signed }}
	mayPass      = guard{Name: "a retryable or unknown failure", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return f.Class != store.NonRetryable }}
	noReview     = guard{Name: "no open review", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return !f.NeedsReview }}
	inReview     = guard{Name: "an open review", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return f.NeedsReview }}
	disputed     = guard{Name: "the review is about the deposit", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return f.Disputed }}
	owed         = guard{Name: "money is owed to the sender, and not on its way", Code: fault.InvalidTransition, Holds: func(f Facts) bool { return f.Owed }}

	system   = []lifecycle.Role{lifecycle.System}
	admin    = []lifecycle.Role{lifecycle.Admin}
	operator = []lifecycle.Role{lifecycle.Admin, lifecycle.System}

	pending    = []store.TransactionStatus{store.TransactionPending}
	processing = []store.TransactionStatus{store.TransactionProcessing}
	processed  = []store.TransactionStatus{store.TransactionProcessed}
	failed     = []store.TransactionStatus{store.TransactionFailed}
)

const flagOff = "it had ended already: the flag goes, nothing else"

// Rules is the lifecycle of a transaction. Everything that moves one asks this table, or is tested against it.
var Rules = lifecycle.Table[store.TransactionStatus, store.TransactionAction, Facts]{
	Entity: "transaction",
	Stages: []lifecycle.Stage[store.TransactionStatus]{
		{State: store.TransactionPending, Means: "a transfer to the wallet was seen; nobody works on it yet", LeftBy: "its workflow"},
		{State: store.TransactionProcessing, Means: "the Stars are being bought; with needs_review an operator has to look", LeftBy: "its workflow; an operator when it needs review"},
		{State: store.TransactionProcessed, Means: "the Stars are bought: fragment_transaction_hash is our payment", Terminal: true},
		{State: store.TransactionFailed, Means: "nothing was bought; the error is recorded", LeftBy: "the system for a time, then an operator, unless the error is non-retryable"},
	},
	Rules: []lifecycle.Rule[store.TransactionStatus, store.TransactionAction, Facts]{
		{Action: store.TransactionActionDetect, To: store.TransactionPending, Who: system, Event: store.TransactionDetected, Effect: "a hash that was seen before changes nothing"},
		{Action: store.TransactionActionLock, From: pending, To: store.TransactionProcessing, Who: system, Event: store.TransactionLocked, Effect: "attempt = 1"},
		{Action: store.TransactionActionFinish, From: processing, To: store.TransactionProcessed, Who: system, Guards: []guard{noReview, bought}, Event: store.TransactionFinished, Effect: "Fragment says that the Stars are sent; the hash of our payment is kept"},
		{Action: store.TransactionActionFail, From: processing, To: store.TransactionFailed, Who: system, Guards: []guard{noReview, nothingSpent}, Event: store.TransactionFailure, Effect: "error_message and error_class are recorded; with the setting a non-retryable one is refunded"},
		{Action: store.TransactionActionRetry, From: failed, To: store.TransactionProcessing, Who: operator, Guards: []guard{mayPass, nothingSpent}, Event: store.TransactionRetried, Effect: "attempt + 1; the system only at the time that was planned with the failure, and not under review"},
		{Action: store.TransactionActionReview, From: processing, To: store.TransactionProcessing, Who: system, Event: store.TransactionReviewed, Effect: "needs_review: nothing is bought until an operator has resolved it"},
		{Action: store.TransactionActionResolve, From: processing, To: store.TransactionProcessed, Who: admin, Guards: []guard{inReview, decided, paid}, Event: store.TransactionResolved},
		{Action: store.TransactionActionResolve, From: processing, To: store.TransactionFailed, Who: admin, Guards: []guard{inReview, decided}, Event: store.TransactionResolved, Effect: "for good: it is never bought again; after payment_lost it may be retried, for another one was bought"},
		{Action: store.TransactionActionResolve, From: processing, To: store.TransactionProcessing, Who: admin, Guards: []guard{inReview, disputed, decided}, Event: store.TransactionResolved, Effect: "the operator answers for the deposit: the order goes on"},
		{Action: store.TransactionActionResolve, From: processed, To: store.TransactionProcessed, Who: admin, Guards: []guard{inReview, decided}, Event: store.TransactionResolved, Effect: flagOff},
		{Action: store.TransactionActionResolve, From: failed, To: store.TransactionFailed, Who: admin, Guards: []guard{inReview, decided}, Event: store.TransactionResolved, Effect: flagOff},
		{Action: store.TransactionActionWriteOff, From: failed, To: store.TransactionFailed, Who: admin, Guards: []guard{owed}, Event: store.TransactionWriteOff, Effect: "what is owed to the sender stays in the wallet"},
	},
}

type request = lifecycle.Request[store.TransactionStatus, store.TransactionAction]

// factsOf reads what the guards want to know of a standing.
func factsOf(s store.Standing) Facts {
	facts := Facts{Class: s.ErrorClass, NeedsReview: s.NeedsReview, Paid: s.Lost, Owed: s.RefundDue > 0, Disputed: s.Disputed} // of a lost one the operator names the payment
	if p := s.Purchase; p != nil {
		facts.Signed, facts.Paid, facts.Kept = p.State == store.PaymentSigned, p.State == store.PaymentPaid, p.Kept
	}
	return facts
}
