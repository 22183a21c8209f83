package service

import (
	"context"
	"regexp"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// ReceiptState is what has become of a transfer, as its payer sees it.
type ReceiptState string

// The states of a receipt.
const (
	ReceiptReceived  ReceiptState = "received" // the Stars are priced, and the payment waits for its turn
	ReceiptPaying    ReceiptState = "paying"   // our payment is signed
	ReceiptPaid      ReceiptState = "paid"     // it is on the chain; Fragment sends the Stars
	ReceiptBought    ReceiptState = "bought"
	ReceiptRetrying  ReceiptState = "retrying" // it did not work, and the system tries again
	ReceiptWaiting   ReceiptState = "waiting"  // it did not work, and an administrator decides
	ReceiptReview    ReceiptState = "review"   // an administrator looks into what happened
	ReceiptRefunding ReceiptState = "refunding"
	ReceiptRefunded  ReceiptState = "refunded"
	ReceiptFailed    ReceiptState = "failed" // nothing was bought, and it is not tried again
)

// Final reports whether nothing follows any more.
func (s ReceiptState) Final() bool {
	return s == ReceiptBought || s == ReceiptRefunded || s == ReceiptFailed
}

// Steps of a receipt, in their order.
const (
	StepDeposit  = "deposit"
	StepPrice    = "price"
	StepSigned   = "signed"
	StepChain    = "chain"
	StepReturned = "returned" // our payment came back
	StepBought   = "bought"
	StepReview   = "review"
	StepFailed   = "failed"
	StepRefund   = "refund" // is signed
	StepRefunded = "refunded"
)

// ReceiptStep is one step on the way of a purchase.
type ReceiptStep struct {
	Step string
	At   *time.Time // nil: it is still to come, or was before times were kept
	Done bool
	Hash string // on the chain; of what is signed only: of the message; empty: none
}

// Receipt is a transaction as its payer may see it.
type Receipt struct {
	transaction.Receipted
	State ReceiptState
	// Reason is the message of the failure when it is about the transfer or its receiver. Others are internal.
	Reason string
	Steps  []ReceiptStep // nil in lists
}

// Receipt returns the receipt with a key. Whoever has the key may see it: no user is asked for.
func (c *Transactions) Receipt(ctx context.Context, key string) (Receipt, error) {
	if !receiptKey.MatchString(key) {
		return Receipt{}, fault.New(fault.ReceiptNotFound, "this is not the key of a receipt")
	}

	t, err := c.Store.TransactionByReceipt(ctx, key)
	if err != nil {
		return Receipt{}, err
	}

	events, err := c.Store.EventsOfTransaction(ctx, t.Hash)
	if err != nil {
		return Receipt{}, err
	}

	payments, err := c.Store.PaymentsOf(ctx, t.Hash)
	if err != nil {
		return Receipt{}, err
	}

	receipt := receiptOf(t)
	receipt.Steps = stepsOf(receipt, events, payments)
	return receipt, nil
}

var receiptKey = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Receipts returns the receipts of transactions that buy Stars for a user, the newest first, without steps.
func (c *Transactions) Receipts(ctx context.Context, user account.User, before int64, limit int) ([]Receipt, error) {
	found, err := c.Store.TransactionsFor(ctx, user.ID, before, limit)
	if err != nil {
		return nil, err
	}

	receipts := make([]Receipt, len(found))
	for i, t := range found {
		receipts[i] = receiptOf(t)
	}
	return receipts, nil
}

// ReceiptURL is the address of a transaction's receipt; empty: the pages have no public address.
func (c *Transactions) ReceiptURL(t transaction.Transaction) string {
	if c.Pages == "" || t.ReceiptKey == "" {
		return ""
	}
	return c.Pages + "/receipts/" + t.ReceiptKey
}

func receiptOf(t transaction.Receipted) Receipt {
	receipt := Receipt{Receipted: t, State: receiptState(t)}
	if failure := stars.Named(t.ErrorMessage); failure.AboutOrder() {
		receipt.Reason = failure.Message
	}
	return receipt
}

func receiptState(t transaction.Receipted) ReceiptState {
	if t.NeedsReview {
		return ReceiptReview
	}

	switch t.Transaction.State {
	case lifecycle.TransactionProcessed:
		return ReceiptBought
	case lifecycle.TransactionFailed:
		return failedState(t)
	case lifecycle.TransactionPending, lifecycle.TransactionProcessing:
	}

	switch {
	case t.Purchase == nil:
		return ReceiptReceived
	case t.Purchase.State == transaction.PaymentSigned:
		return ReceiptPaying
	case t.Purchase.State == transaction.PaymentPaid:
		return ReceiptPaid
	default: // of an earlier try
		return ReceiptReceived
	}
}

// failedState says what follows a failure.
func failedState(t transaction.Receipted) ReceiptState {
	switch {
	case t.Refund != nil && t.Refund.State == transaction.PaymentPaid:
		return ReceiptRefunded
	case t.RefundDueNano > 0, t.Refund != nil && t.Refund.State == transaction.PaymentSigned:
		return ReceiptRefunding
	case t.NextRetry() != nil:
		return ReceiptRetrying
	case t.ErrorClass == lifecycle.NonRetryable:
		return ReceiptFailed
	default:
		return ReceiptWaiting
	}
}

// ahead are the steps on the way of a receipt in a state; those that are done already are left out.
var ahead = map[ReceiptState][]string{
	ReceiptReceived:  {StepPrice, StepSigned, StepChain, StepBought},
	ReceiptPaying:    {StepPrice, StepSigned, StepChain, StepBought},
	ReceiptPaid:      {StepPrice, StepSigned, StepChain, StepBought},
	ReceiptRefunding: {StepRefund, StepRefunded},
}

// stepsOf lists what has happened, and then what is still to come.
func stepsOf(r Receipt, events []core.StreamedEvent, payments []transaction.Payment) []ReceiptStep {
	var steps []ReceiptStep
	done := func(step string, at *time.Time, hash string) {
		steps = append(steps, ReceiptStep{Step: step, Done: true, At: at, Hash: hash})
	}
	pay := func(p transaction.Payment, signed, onChain string) {
		done(signed, &p.CreatedAt, p.HashNorm)
		if p.ChainHash != "" {
			done(onChain, p.SettledAt, p.ChainHash)
		}
	}

	done(StepDeposit, &r.CreatedAt, r.Hash)
	if r.QuoteNano > 0 {
		done(StepPrice, r.QuotedAt, "")
	}
	_, goesOn := ahead[r.State]
	p := lastPayment(payments, transaction.Purchase)
	if p != nil && !(goesOn && p.State == transaction.PaymentBounced) { // one that bounced was of an earlier try
		pay(*p, StepSigned, StepChain)
		if p.State == transaction.PaymentBounced {
			done(StepReturned, lastEvent(events, lifecycle.TransactionBounced, ""), "")
		}
	}

	switch {
	case r.State == ReceiptReview:
		done(StepReview, lastEvent(events, lifecycle.TransactionReviewed, ""), "")
	case r.State == ReceiptBought:
		done(StepBought, lastEvent(events, "", lifecycle.TransactionProcessed), r.FragmentTransactionHash)
	case r.Transaction.State == lifecycle.TransactionFailed:
		done(StepFailed, lastEvent(events, "", lifecycle.TransactionFailed), "")
		if p := lastPayment(payments, transaction.Refund); p != nil && p.State != transaction.PaymentBounced {
			pay(*p, StepRefund, StepRefunded)
		}
	}

	for _, step := range ahead[r.State] {
		if !slices.ContainsFunc(steps, func(s ReceiptStep) bool { return s.Step == step }) {
			steps = append(steps, ReceiptStep{Step: step})
		}
	}
	return steps
}

// lastPayment returns the last payment of a kind that may have moved money; nil: there is none.
func lastPayment(payments []transaction.Payment, kind transaction.PaymentKind) *transaction.Payment {
	for _, p := range slices.Backward(payments) {
		if p.Kind == kind && p.State != transaction.PaymentDead {
			return &p
		}
	}
	return nil
}

// lastEvent returns the time of the last event of a type, or of the last change to a state; nil: there is none.
func lastEvent(events []core.StreamedEvent, kind string, to lifecycle.TransactionState) *time.Time {
	for _, e := range slices.Backward(events) {
		if e.Type == kind || to != "" && e.To == string(to) && e.From != e.To {
			return &e.CreatedAt
		}
	}
	return nil
}
