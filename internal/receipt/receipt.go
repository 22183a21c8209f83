// Package receipt shows what has become of a transfer, as its payer may see it: what has happened, and what is still to
// come. It does no I/O.
package receipt

import (
	"slices"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// State is what has become of a transfer, from its payer's view.
type State string

// The states of a receipt.
const (
	Received  State = "received" // the order waits for the wallet, or is being priced
	Paying    State = "paying"   // our payment is signed
	Paid      State = "paid"     // it is on the chain; Fragment sends the Stars
	Bought    State = "bought"
	Retrying  State = "retrying" // it failed, and the system retries
	Waiting   State = "waiting"  // it failed, and an administrator decides
	Review    State = "review"   // an administrator is investigating
	Refunding State = "refunding"
	Refunded  State = "refunded"
	Failed    State = "failed" // nothing was bought, and it is not retried
)

// Final reports whether nothing further follows.
func (s State) Final() bool {
	return s == Bought || s == Refunded || s == Failed
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
	StepRefund   = "refund" // it is signed
	StepRefunded = "refunded"
)

// Step is one step of a purchase.
type Step struct {
	Name string
	At   *time.Time // nil: it is still to come, or predates recorded times
	Done bool
	Hash string // on the chain; for a payment that is only signed, the message's; empty: none
}

// Receipt is a transaction as its payer may see it.
type Receipt struct {
	transaction.Transaction
	State State
	// Reason is the failure's message if it concerns the transfer or its receiver. Others are internal.
	Reason string
	Steps  []Step // nil in lists
}

// Of returns the receipt of a transaction, without steps.
func Of(t transaction.Transaction) Receipt {
	receipt := Receipt{Transaction: t, State: stateOf(t)}
	if failure := stars.Named(t.ErrorMessage); failure.AboutOrder() {
		receipt.Reason = failure.Message
	}
	return receipt
}

// Public returns what people other than the receiver of the Stars may see: that the transfer has arrived, and in the
// end its outcome and why. The key opens the receipt for good, and internal progress is for the receiver.
func (r Receipt) Public() Receipt {
	r.ReceiptKey, r.QuoteNano, r.Steps = "", 0, nil
	switch r.State {
	case Bought, Refunding, Refunded, Failed:
	case Received, Paying, Paid, Retrying, Waiting, Review:
		r.State, r.Reason = Received, ""
	}
	return r
}

func stateOf(t transaction.Transaction) State {
	if t.NeedsReview {
		return Review
	}

	switch t.State {
	case lifecycle.TransactionProcessed:
		return Bought
	case lifecycle.TransactionFailed:
		return failedState(t)
	case lifecycle.TransactionPending, lifecycle.TransactionProcessing:
	}

	switch {
	case t.Purchase == nil:
		return Received
	case t.Purchase.State == transaction.PaymentSigned:
		return Paying
	case t.Purchase.State == transaction.PaymentPaid:
		return Paid
	default: // of an earlier attempt
		return Received
	}
}

// failedState is what follows a failure.
func failedState(t transaction.Transaction) State {
	switch {
	case t.Refund != nil && t.Refund.State == transaction.PaymentPaid:
		return Refunded
	case t.RefundDueNano > 0, t.Refund != nil && t.Refund.State == transaction.PaymentSigned:
		return Refunding
	case t.RetryAt != nil:
		return Retrying
	case t.ErrorClass == lifecycle.NonRetryable:
		return Failed
	default:
		return Waiting
	}
}

// ahead are the steps to come for a receipt in a state; completed ones are left out.
var ahead = map[State][]string{
	Received:  {StepPrice, StepSigned, StepChain, StepBought},
	Paying:    {StepPrice, StepSigned, StepChain, StepBought},
	Paid:      {StepPrice, StepSigned, StepChain, StepBought},
	Refunding: {StepRefund, StepRefunded},
}

// WithSteps returns the receipt with its steps: what has happened, by the transaction's events and payments in order,
// and then what is still to come.
func (r Receipt) WithSteps(events []core.StreamedEvent, payments []transaction.Payment) Receipt {
	r.Steps = nil
	r.happened(events, payments)
	for _, name := range ahead[r.State] {
		if !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Name == name }) {
			r.Steps = append(r.Steps, Step{Name: name})
		}
	}
	return r
}

// happened adds the completed steps.
func (r *Receipt) happened(events []core.StreamedEvent, payments []transaction.Payment) {
	r.done(StepDeposit, &r.CreatedAt, r.Hash)
	if r.QuoteNano > 0 {
		r.done(StepPrice, r.QuotedAt, "")
	}

	if p := lastPayment(payments, transaction.Purchase); p != nil {
		switch bounced := p.State == transaction.PaymentBounced; {
		case bounced && r.Transaction.State == lifecycle.TransactionProcessing: // it belonged to an earlier attempt
		case bounced:
			r.paid(*p, StepSigned, StepChain)
			r.done(StepReturned, lastEvent(events, lifecycle.TransactionBounced, ""), "")
		default:
			r.paid(*p, StepSigned, StepChain)
		}
	}

	switch {
	case r.State == Review:
		r.done(StepReview, lastEvent(events, lifecycle.TransactionReviewed, ""), "")
	case r.State == Bought:
		r.done(StepBought, lastEvent(events, "", lifecycle.TransactionProcessed), r.FragmentTransactionHash)
	case r.Transaction.State == lifecycle.TransactionFailed:
		r.done(StepFailed, lastEvent(events, "", lifecycle.TransactionFailed), "")
		if p := lastPayment(payments, transaction.Refund); p != nil && p.State != transaction.PaymentBounced {
			r.paid(*p, StepRefund, StepRefunded)
		}
	}
}

// done adds a completed step.
func (r *Receipt) done(name string, at *time.Time, hash string) {
	r.Steps = append(r.Steps, Step{Name: name, Done: true, At: at, Hash: hash})
}

// paid adds the steps of a payment: signed, and then on the chain.
func (r *Receipt) paid(p transaction.Payment, signed, onChain string) {
	r.done(signed, &p.CreatedAt, p.HashNorm)
	if p.ChainHash != "" {
		r.done(onChain, p.SettledAt, p.ChainHash)
	}
}

// lastPayment returns the last payment of a kind that may have moved money; nil: none.
func lastPayment(payments []transaction.Payment, kind transaction.PaymentKind) *transaction.Payment {
	for _, p := range slices.Backward(payments) {
		if p.Kind == kind && p.State != transaction.PaymentDead {
			return &p
		}
	}
	return nil
}

// lastEvent returns the time of the last event of a type, or of the last change to a state; nil: none.
func lastEvent(events []core.StreamedEvent, kind string, to lifecycle.TransactionState) *time.Time {
	for _, e := range slices.Backward(events) {
		if e.Type == kind || to != "" && e.To == string(to) && e.From != e.To {
			return &e.CreatedAt
		}
	}
	return nil
}
