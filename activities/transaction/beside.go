package transaction

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// draftFor is how long purchases are drafted for one message at most: the first one waits meanwhile, and its link ends.
// Less makes more messages, and while one is under way no purchase is drafted: Fragment's rate is the limit.
const draftFor = 45 * time.Second

// draftBeside drafts the purchases of orders in line that may share a message with the first. An order that cannot be
// drafted now stays in line: its own turn finds out why.
//
// The requests are made one after the other, because the session's last one has to be known. Confirmations wait meanwhile:
// Fragment's rate is the limit, and they have the time in which the message is under way.
func (a *PaymentActivities) draftBeside(ctx context.Context, first drafted) (beside []drafted) {
	if !first.order.Shared || a.Settings.Parts < 2 {
		return nil
	}

	a.drafting.Lock()
	defer a.drafting.Unlock()
	spare := time.Until(first.until) - transferTime - shortestLife
	ctx, cancel := context.WithTimeout(ctx, min(draftFor, spare/2))
	defer cancel()
	hashes, err := a.Store.OrdersBeside(ctx, a.Wallet.Address().Raw(), first.order.Hash, a.Settings.Parts-1)
	if err != nil {
		a.Log.Warn("no purchases share the message", "error", err)
		return nil
	}

	drafts := make([]*drafted, len(hashes))
	var links errgroup.Group
	for i, hash := range hashes {
		link, err := a.requestBeside(ctx, hash)
		if ctx.Err() != nil || fragment.Away(err) || fragment.Holds(err) {
			break
		}
		if err != nil {
			a.Log.Info("a purchase stays in line", "transaction", hash, "error", err)
		}
		if link != nil {
			links.Go(func() (err error) { drafts[i], err = link(); return err })
		}
	}

	if err := links.Wait(); err != nil {
		a.Log.Info("a purchase stays in line", "error", err)
	}
	for _, ready := range drafts {
		if ready != nil {
			beside = append(beside, *ready)
		}
	}
	return beside
}

// awaitDrafts waits until no purchases are drafted.
func (a *PaymentActivities) awaitDrafts() {
	a.drafting.RLock()
	defer a.drafting.RUnlock()
}

// requestBeside makes the purchase request of an order in line, and returns the function that completes its draft; nil:
// it is not to be bought now.
func (a *PaymentActivities) requestBeside(ctx context.Context, hash string) (link func() (*drafted, error), err error) {
	snapshot, err := a.loadSnapshot(ctx, hash)
	if err != nil || snapshot.State != lifecycle.TransactionProcessing || !snapshot.Again || snapshot.Unconfirmed {
		return nil, err
	}

	row, err := a.payableTransaction(ctx, hash, transaction.Purchase)
	if err != nil {
		return nil, err
	}
	quote := quoteOf(row)
	made, err := a.request(ctx, quote)
	if err != nil {
		return nil, err
	}

	return func() (*drafted, error) {
		ready, err := a.link(ctx, made, quote)
		if err != nil {
			return nil, err
		}
		order, err := a.orderOf(Order{Hash: hash, Attempt: row.Attempt}, transaction.Purchase, ready)
		return &drafted{ready, order}, err
	}, nil
}
