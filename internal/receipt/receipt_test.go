package receipt_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/receipt"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// TestReceipts checks transactions in each state, and each step.
func TestReceipts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	soon := now.Add(time.Minute)
	purchase := func(state transaction.PaymentState) *transaction.LastPurchase {
		return &transaction.LastPurchase{PaymentRef: transaction.PaymentRef{State: state}}
	}
	pay := func(kind transaction.PaymentKind, state transaction.PaymentState) transaction.Payment {
		p := transaction.Payment{Kind: kind, State: state, HashNorm: "m", CreatedAt: now}
		if state == transaction.PaymentPaid || state == transaction.PaymentBounced {
			p.ChainHash, p.SettledAt = "c", &now
		}
		return p
	}
	const (
		buys, refunds = transaction.Purchase, transaction.Refund
		signed, paid  = transaction.PaymentSigned, transaction.PaymentPaid
		dead, bounced = transaction.PaymentDead, transaction.PaymentBounced
	)
	failed := transaction.Transaction{State: lifecycle.TransactionFailed, Attempt: 1, ErrorClass: lifecycle.NonRetryable, ErrorMessage: "Username not found", QuoteNano: 1, QuotedAt: &now}
	processing := transaction.Transaction{State: lifecycle.TransactionProcessing, Attempt: 1, QuoteNano: 1, QuotedAt: &now}
	with := func(t transaction.Transaction, change func(*transaction.Transaction)) transaction.Transaction {
		change(&t)
		return t
	}

	for name, c := range map[string]struct {
		t        transaction.Transaction
		refund   transaction.PaymentState
		payments []transaction.Payment
		state    receipt.State
		steps    string
	}{
		"pending":           {transaction.Transaction{State: lifecycle.TransactionPending}, "", nil, receipt.Received, "deposit price? signed? chain? bought?"},
		"priced":            {processing, "", nil, receipt.Received, "deposit price signed? chain? bought?"},
		"signed":            {with(processing, func(t *transaction.Transaction) { t.Purchase = purchase(signed) }), "", []transaction.Payment{pay(buys, signed)}, receipt.Paying, "deposit price signed chain? bought?"},
		"paid":              {with(processing, func(t *transaction.Transaction) { t.Purchase = purchase(paid) }), "", []transaction.Payment{pay(buys, dead), pay(buys, paid)}, receipt.Paid, "deposit price signed chain bought?"},
		"a dead try":        {with(processing, func(t *transaction.Transaction) { t.Purchase = purchase(dead) }), "", []transaction.Payment{pay(buys, dead)}, receipt.Received, "deposit price signed? chain? bought?"},
		"after a bounce":    {with(processing, func(t *transaction.Transaction) { t.Purchase = purchase(bounced) }), "", []transaction.Payment{pay(buys, bounced)}, receipt.Received, "deposit price signed? chain? bought?"},
		"bounced":           {with(failed, func(t *transaction.Transaction) { t.Purchase, t.RefundDueNano = purchase(bounced), 1 }), "", []transaction.Payment{pay(buys, bounced)}, receipt.Refunding, "deposit price signed chain returned failed refund? refunded?"},
		"failed":            {failed, "", nil, receipt.Failed, "deposit price failed"},
		"retried":           {with(failed, func(t *transaction.Transaction) { t.ErrorClass, t.RetryAt = lifecycle.Retryable, &soon }), "", nil, receipt.Retrying, "deposit price failed"},
		"waiting":           {with(failed, func(t *transaction.Transaction) { t.ErrorClass = lifecycle.UnknownError }), "", nil, receipt.Waiting, "deposit price failed"},
		"owed":              {with(failed, func(t *transaction.Transaction) { t.RefundDueNano = 1 }), "", nil, receipt.Refunding, "deposit price failed refund? refunded?"},
		"refund signed":     {failed, signed, []transaction.Payment{pay(refunds, signed)}, receipt.Refunding, "deposit price failed refund refunded?"},
		"refunded":          {failed, paid, []transaction.Payment{pay(refunds, dead), pay(refunds, paid)}, receipt.Refunded, "deposit price failed refund refunded"},
		"bounced refund":    {with(failed, func(t *transaction.Transaction) { t.RefundDueNano = 1 }), bounced, []transaction.Payment{pay(refunds, bounced)}, receipt.Refunding, "deposit price failed refund? refunded?"},
		"review":            {with(processing, func(t *transaction.Transaction) { t.NeedsReview, t.Purchase = true, purchase(paid) }), "", []transaction.Payment{pay(buys, paid)}, receipt.Review, "deposit price signed chain review"},
		"bought":            {with(processing, func(t *transaction.Transaction) { t.State = lifecycle.TransactionProcessed }), "", []transaction.Payment{pay(buys, paid)}, receipt.Bought, "deposit price signed chain bought"},
		"bought, then back": {with(processing, func(t *transaction.Transaction) { t.State, t.NeedsReview = lifecycle.TransactionProcessed, true }), "", []transaction.Payment{pay(buys, bounced)}, receipt.Review, "deposit price signed chain returned review"},
	} {
		row := c.t
		if c.refund != "" {
			row.Refund = &transaction.PaymentRef{State: c.refund}
		}
		events := []core.StreamedEvent{
			{Type: lifecycle.TransactionReviewed, From: "processing", To: "processing", CreatedAt: now},
			{Type: lifecycle.TransactionBounced, CreatedAt: now},
			{Type: lifecycle.TransactionResolved, From: "processing", To: string(c.t.State), CreatedAt: now},
		}

		got := receipt.Of(row).WithSteps(events, c.payments)
		var steps []string
		for _, s := range got.Steps {
			text := s.Name
			if !s.Done {
				text += "?"
			} else if s.At == nil {
				t.Errorf("%s: %s has no time", name, text)
			}
			steps = append(steps, text)
		}
		if got.State != c.state || strings.Join(steps, " ") != c.steps {
			t.Errorf("%s: %s %v, want %s %s", name, got.State, steps, c.state, c.steps)
		}
	}
}

// TestReasons shows the payer what concerns the transfer, and nothing internal.
func TestReasons(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Username not found": "Username not found", "Insufficient amount": "Insufficient amount", "": "",
		"Fragment API error: the account cannot be gifted Stars at this moment": "Fragment API error: the account cannot be gifted Stars at this moment",
		"Authorization failed: Session expired":                                 "", "terminated_by_operator": "", "secret": "",
	} {
		row := transaction.Transaction{State: lifecycle.TransactionFailed, ErrorMessage: message}
		if got := receipt.Of(row).Reason; got != want {
			t.Errorf("%q is given as %q", message, got)
		}
	}
}
