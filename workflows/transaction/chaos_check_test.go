package transaction_test

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

var discard = slog.New(slog.DiscardHandler)

// observe checks what must hold at every moment.
func (c *chaos) observe() error {
	ctx, address := context.Background(), c.wallet.Address().Raw()
	balances, err := c.lab.store.Transactions.LedgerBalances(ctx, address)
	if err != nil {
		return err
	}

	var sum int64
	for _, b := range balances {
		sum += b.BalanceNano
	}

	if sum != 0 {
		c.complain("the ledger does not balance: %+v", balances)
	}

	switches, err := c.lab.store.Transactions.Switches(ctx)
	if err == nil && switches.Hold.On() {
		c.mu.Lock()
		c.tally["holds"]++
		c.mu.Unlock()
	}
	return err
}

// openable reports whether a planned transaction has yet to be opened: what does not need the wallet is decided then,
// however long a pause lasts.
func (c *chaos) openable(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.hashes, func(hash string) bool {
		t, err := c.lab.store.Transactions.ByHash(ctx, hash)
		return err != nil || t.State == lifecycle.TransactionPending && needsNoTurn(t)
	})
}

// needsNoTurn reports whether an order can be decided without the wallet.
func needsNoTurn(t transaction.Transaction) bool {
	_, err := stars.Parse(t.Comment, mostStars)
	return err != nil || t.AmountNano > reviewFrom
}

// mostRetries are more than an order needs without any trouble: each is one more chance for a busy machine, on which
// the time of payments may pass before they are broadcast.
const mostRetries = 20

// settle is the operator who cleans up when the trouble is over. It returns whether nothing is left to do.
func (c *chaos) settle(ctx context.Context) (bool, error) {
	if !c.resumed {
		if c.openable(ctx) {
			return false, nil
		}
		c.resumed = true
		if err := c.lab.store.Transactions.Resume(ctx); err != nil {
			return false, err
		}
	}

	bought, _, err := c.fragment.Purchases(ctx)
	if err != nil {
		return false, err
	}

	c.mu.Lock()
	hashes := slices.Clone(c.hashes)
	c.mu.Unlock()
	settled := true

	for _, hash := range hashes {
		t, err := c.lab.store.Transactions.ByHash(ctx, hash) // with its payments, of one moment
		if err != nil {
			return false, nil //nolint:nilerr // not seen yet
		}

		payments, err := c.lab.store.Transactions.PaymentsOf(ctx, hash) // a moment later
		if err != nil {
			return false, err
		}
		if now, err := c.lab.store.Transactions.ByHash(ctx, hash); err != nil || now.RowVersion != t.RowVersion {
			return false, err // the two are not of one moment
		}

		at, signed, travels := t.Snapshot(), false, false
		for _, p := range []*transaction.PaymentRef{at.Purchase, at.Refund} {
			signed = signed || p != nil && p.State == transaction.PaymentSigned
			travels = travels || p != nil && p.State == transaction.PaymentPaid && !p.Kept
		}

		if t.DeferredUntil != nil && time.Now().Before(*t.DeferredUntil) { // the operator has raised the limit
			settled = false
			c.tally["deferred"]++
			c.note(errand{hash: hash, signal: lifecycle.TransactionRetrySignal})
		}

		switch {
		case t.NeedsReview && t.RefundDueNano > 0: // too many of one sender
			settled = false
			c.tally["refunds reviewed"]++
			c.note(errand{
				hash: hash, update: lifecycle.TransactionActionResolve,
				input: lifecycle.TransactionInput{Actor: c.lab.admin.ID, Outcome: lifecycle.TransactionFailed},
			})
		case signed || travels && (!t.NeedsReview || t.ReviewReason == transaction.ReviewAsked) || t.RefundDueNano > 0 || t.State == lifecycle.TransactionPending:
			settled = false
		case t.NeedsReview: // the shop's state decides
			settled = false
			outcome := lifecycle.TransactionFailed
			if len(purchasesOf(payments, bought)) > 0 {
				outcome = lifecycle.TransactionProcessed
			}

			switch t.ReviewReason {
			case transaction.ReviewNotConfirmed:
				c.tally["reviews"]++
			case transaction.ReviewDeposit:
				c.tally["deposits reviewed"]++
				outcome = lifecycle.TransactionProcessing
			case transaction.ReviewAsked:
				c.tally["reviews asked"]++
				paid := slices.ContainsFunc(payments, func(p transaction.Payment) bool {
					return p.State == transaction.PaymentPaid && p.Kind == transaction.Purchase
				})
				switch {
				case paid:
					outcome = lifecycle.TransactionProcessed // the shop may have it since the query
				case len(payments) == 0:
					outcome = lifecycle.TransactionProcessing
				}
			default:
				c.complain("%.8s needs review: %s", hash, t.ReviewReason)
			}

			c.note(errand{
				hash: hash, update: lifecycle.TransactionActionResolve,
				input: lifecycle.TransactionInput{Actor: c.lab.admin.ID, Outcome: outcome},
			})
		case t.State == lifecycle.TransactionProcessing:
			settled = false
		case t.RetryAt != nil: // by the system
			settled = false
		case t.State == lifecycle.TransactionFailed && t.ErrorClass != lifecycle.NonRetryable:
			settled = false
			if c.retried[hash]++; c.retried[hash] > mostRetries {
				c.complain("%.8s cannot be bought without any trouble: %s", hash, t.ErrorMessage)
				return true, nil
			}
			c.tally["retries"]++
			c.note(errand{
				hash: hash, update: lifecycle.TransactionActionRetry, input: lifecycle.TransactionInput{Actor: c.lab.admin.ID},
			})
		}
	}

	return settled, nil
}

func purchasesOf(payments []transaction.Payment, bought []tonsim.Purchase) (theirs []tonsim.Purchase) {
	for _, b := range bought {
		if slices.ContainsFunc(payments, func(p transaction.Payment) bool { return p.OutHash == b.Message }) {
			theirs = append(theirs, b)
		}
	}
	return theirs
}

// dayLimits have room for one or two purchases and one refund.
var dayLimits = transaction.Limits{PerDay: 1_500_000_000, RefundPerDay: 1_500_000_000}

// restart starts new processes, with or without the limits.
func (c *chaos) restart(limited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.payers {
		c.payers[i] = c.process(limited)
	}
}

// liftLimits checks that they were respected.
func (c *chaos) liftLimits() error {
	spent := map[transaction.PaymentKind]int64{}
	c.mu.Lock()
	hashes := slices.Clone(c.hashes)
	c.mu.Unlock()
	for _, hash := range hashes {
		payments, err := c.lab.store.Transactions.PaymentsOf(context.Background(), hash)
		if err != nil {
			return err
		}
		for _, p := range payments {
			if p.State == transaction.PaymentSigned || p.State == transaction.PaymentPaid {
				spent[p.Kind] += p.AmountNano
			}
		}
	}

	if c.plan.limited && (spent[transaction.Purchase] > dayLimits.PerDay || spent[transaction.Refund] > dayLimits.RefundPerDay) {
		c.complain("within a day this was spent: %v", spent)
	}
	c.restart(false)
	return nil
}

// verify checks what must hold in the end, according to the chain and the shop.
func (c *chaos) verify() error {
	ctx := context.Background()
	bought, strays, err := c.fragment.Purchases(ctx)
	if err != nil {
		return err
	}

	if len(strays) > 0 {
		c.complain("payments that bought nothing: %+v", strays)
	}

	known, senders := 0, map[string]int{}
	for _, hash := range c.hashes {
		t, err := c.lab.store.Transactions.ByHash(ctx, hash)
		if err != nil {
			return err
		}

		payments, err := c.lab.store.Transactions.PaymentsOf(ctx, hash)
		if err != nil {
			return err
		}

		theirs := purchasesOf(payments, bought)
		known += len(theirs)
		if c.refunds(t, payments) {
			senders[t.Sender]++
		}

		c.verifyOne(t, payments, theirs)
		if err := c.verifyOpening(ctx, t); err != nil {
			return err
		}
	}

	if known != len(bought) {
		c.complain("%d purchases, but %d belong to orders", len(bought), known)
	}

	if err := c.verifyChain(ctx, len(bought), senders); err != nil {
		return err
	}

	list := []transactions.FragmentPurchase{}
	for _, b := range bought {
		list = append(
			list,
			transactions.FragmentPurchase{Username: b.Username, Stars: b.Stars, PaidNano: b.PaidNano, PaymentHash: b.Hash, At: b.At},
		)
	}

	report, err := c.client.Reconcile(ctx, list)
	if err == nil && (!report.Chain || len(report.Differences) > 0) {
		c.complain("reconciliation: compared with the chain %t, differences %+v", report.Chain, report.Differences)
	}
	return err
}

// refunds reports whether an order is refunded: one that can never be executed. Of those ended by an operator, only one
// whose money came back from the shop: what the shop has kept, the operator refunds.
func (c *chaos) refunds(t transaction.Transaction, payments []transaction.Payment) bool {
	kept := slices.ContainsFunc(payments, func(p transaction.Payment) bool {
		return p.Kind == transaction.Purchase && p.State == transaction.PaymentPaid
	})
	return c.plan.refunds && t.State == lifecycle.TransactionFailed && t.ErrorClass == lifecycle.NonRetryable &&
		(t.ErrorMessage != stars.Unconfirmed.Message || !kept)
}

// verifyOne checks one order: its state matches what happened.
func (c *chaos) verifyOne(t transaction.Transaction, payments []transaction.Payment, bought []tonsim.Purchase) {
	refunded := 0
	c.tally[string(t.State)]++
	if t.Failures > 1 {
		c.tally["retries by the system"]++
	}

	if t.RetryAt != nil {
		c.complain("%.8s is still to be tried again", t.Hash)
	}

	for _, p := range payments {
		c.tally[string(p.Kind)+" "+string(p.State)]++
		switch {
		case p.State == transaction.PaymentSigned:
			c.complain("%.8s: payment %d is undecided", t.Hash, p.ID)
		case p.Kind == transaction.Refund && p.KeptAt != nil:
			refunded++
		case p.Kind == transaction.Purchase && p.State == transaction.PaymentPaid && (p.AmountNano > t.QuoteNano*10_100/10_000 || p.AmountNano > t.AmountNano):
			c.complain(
				"%.8s: payment %d is of %d nanoTON, the quote was %d, the deposit %d", t.Hash, p.ID, p.AmountNano, t.QuoteNano,
				t.AmountNano,
			)
		case p.Kind == transaction.Purchase && p.State == transaction.PaymentPaid && t.State != lifecycle.TransactionProcessed:
			c.complain("%.8s is %s, but payment %d is paid", t.Hash, t.State, p.ID)
		}
	}

	owed := 0
	if c.refunds(t, payments) {
		owed = 1
	}

	switch {
	case len(bought) > 1:
		c.complain("%.8s was bought %d times", t.Hash, len(bought))
	case t.State == lifecycle.TransactionFailed && len(bought) != 0:
		c.complain("%.8s failed (%s), but was bought", t.Hash, t.ErrorMessage)
	case t.State == lifecycle.TransactionProcessed && (len(bought) != 1 || bought[0].Hash != t.FragmentTransactionHash ||
		bought[0].Stars != t.Stars || bought[0].Username != t.Username):
		c.complain(
			"%.8s is processed by %.8s for %d Stars, the shop says %+v", t.Hash, t.FragmentTransactionHash, t.Stars, bought,
		)
	case t.State != lifecycle.TransactionFailed && t.State != lifecycle.TransactionProcessed:
		c.complain("%.8s is %s in the end", t.Hash, t.State)
	}

	if refunded != owed || t.RefundDueNano != 0 {
		c.complain(
			"%.8s failed (%s, %s) and was refunded %d times, %d nanoTON are owed", t.Hash, t.ErrorMessage, t.ErrorClass,
			refunded, t.RefundDueNano,
		)
	}
}

// verifyOpening checks that what does not need the wallet was decided together with the lock, in one change.
func (c *chaos) verifyOpening(ctx context.Context, t transaction.Transaction) error {
	events, err := c.lab.store.Transactions.EventsOf(ctx, t.Hash)
	if err != nil || !needsNoTurn(t) {
		return err
	}

	c.tally["decided without a turn"]++
	if len(events) < 3 || events[1].Type != lifecycle.TransactionLocked || events[1].XID != events[2].XID ||
		events[2].Type != lifecycle.TransactionFailure && (t.AmountNano <= reviewFrom || events[2].Type != lifecycle.TransactionReviewed) {
		c.complain("%.8s, %q of %d nanoTON, began with %+v", t.Hash, t.Comment, t.AmountNano, events)
	}
	return nil
}

// verifyChain checks where the wallet's money went, by the chain alone: to the shop once for each purchase, back to
// senders once for each refund, again to senders who return it, and to nobody else.
func (c *chaos) verifyChain(ctx context.Context, bought int, refunds map[string]int) error {
	history, _, err := c.lab.view.Transactions(ctx, toncenter.Page{Account: c.wallet.Address(), Limit: 1000})
	if err != nil {
		return err
	}

	sent := map[ton.Address]int{}
	for _, t := range history {
		for _, out := range t.Out {
			sent[out.Destination]++
		}
	}

	if n := sent[c.allow[0]]; n != bought {
		c.complain("the shop was paid %d times for %d purchases", n, bought)
	}

	for address, n := range sent {
		if !slices.Contains(c.allow, address) && n != refunds[address.Raw()] {
			c.complain("%.10s was paid %d times, and %d refunds were due", address.Raw(), n, refunds[address.Raw()])
		}
	}
	return nil
}
