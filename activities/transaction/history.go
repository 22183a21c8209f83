package transaction

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// follow reads the history from the cursor to its final end. unread means that it contains an unreadable message.
func (m *Monitor) follow(ctx context.Context) (unread bool, _ error) {
	wallet, err := m.open(ctx)
	if err != nil {
		return false, err
	}

	temporalio.Progressed(ctx)
	head, clockErr := m.Chain.Head(ctx) // before the history, which is then complete up to this time
	if clockErr != nil && !isRefusal(clockErr, fault.ChainClock) {
		return false, clockErr
	}

	limit := historyPage
	bound := head.At.Add(-m.Settings.FinalityMargin) // without a trustworthy time nothing is complete
	for cursor := uint64(wallet.CursorLT); ; {
		page, err := m.finalPage(ctx, cursor, limit)
		if toncenter.TooLong(err) && limit > 1 { // strangers decide how long their messages are
			limit /= 2
			continue
		}
		if err != nil {
			return unread, err
		}

		if !page.pending.IsZero() {
			bound = earlier(bound, page.pending.Add(-time.Second))
		}

		if len(page.rows) > 0 {
			cursor = uint64(page.rows[len(page.rows)-1].LT)
		}

		scanned := time.Time{}
		if !page.full && clockErr == nil {
			if scanned, err = m.complete(ctx, wallet, cursor, bound); err != nil {
				return unread, err
			}
		}

		if len(page.unread) > 0 { // alerted before it is recorded, as it is never read again
			unread = true
			m.Log.Error("chain messages cannot be parsed, their deposits have no order", "transactions", page.unread)
			if err := m.Alerts.RaiseAlert(ctx, notice.AlertChainMessage); err != nil {
				return unread, err
			}
		}

		temporalio.Progressed(ctx)
		brought, err := m.Store.IngestChain(ctx, wallet.Address, page.rows, scanned)
		m.note(brought)
		if err == nil && len(brought.Lost) > 0 {
			err = m.Alerts.RaiseAlert(ctx, notice.AlertTransactionReview)
		}

		if err == nil && !page.full && clockErr == nil && stalled(wallet, scanned, head.At.Add(-m.Settings.FinalityMargin)) {
			err = errStalled
		}
		if err != nil || !page.full {
			return unread, cmp.Or(err, clockErr)
		}
		limit = min(2*limit, historyPage)
	}
}

// page is a part of the wallet's history.
type page struct {
	rows    []transaction.ChainTransaction // the final ones
	unread  []string                       // hashes of those with an unreadable message
	full    bool                           // all are final, and there may be more
	pending time.Time                      // of the first non-final one; zero: all are final
}

// finalPage returns at most limit final transactions after cursor.
func (m *Monitor) finalPage(ctx context.Context, cursor uint64, limit int) (page page, _ error) {
	temporalio.Progressed(ctx)
	found, more, err := m.Chain.Transactions(ctx, toncenter.Page{Account: m.Wallet, FromLT: cursor + 1, Limit: limit})
	if err != nil {
		return page, err
	}
	page.full = more

	temporalio.Progressed(ctx)
	for _, t := range found {
		if t.Finality != toncenter.Finalized {
			page.pending, page.full = t.At, false
			return page, nil
		}

		page.rows = append(page.rows, m.recordOf(t))
		if t.In != nil && t.In.Unreadable {
			page.unread = append(page.unread, t.Hash)
		}
	}

	return page, nil
}

// note counts and logs what a page added to the record.
func (m *Monitor) note(brought transaction.Ingested) {
	m.Metrics.Started.Add(float64(len(brought.NewDeposits)))
	for _, hash := range brought.Lost {
		m.Log.Error("chain payment missing from the record, needs review", "transaction", hash)
	}
	if len(brought.Settled) > 0 {
		m.Decided()
	}
	if brought.Written > 0 || len(brought.Settled) > 0 {
		m.Log.Info(
			"chain followed", "transactions", brought.Written, "deposits", len(brought.NewDeposits), "settled",
			len(brought.Settled),
		)
	}
}

// complete returns the chain time up to which nothing is missing in the history that ends with the transaction at
// cursor. If that time would end a signed payment, the wallet's own state must agree that there is no later
// transaction: a gateway has many servers, and one may report the time while another still lacks a block.
func (m *Monitor) complete(ctx context.Context, wallet transaction.Wallet, cursor uint64, bound time.Time) (time.Time, error) {
	if wallet.SignedUntil == nil || !wallet.SignedUntil.Before(bound) { // what is signed meanwhile is valid for longer
		return bound, nil
	}

	state, err := m.Chain.Wallet(ctx, m.Wallet)
	if err != nil {
		return time.Time{}, err
	}
	if state.LastLT != cursor {
		return time.Time{}, nil
	}

	return bound, nil
}

// errStalled means that the chain advances but what is known of the wallet does not: its transactions do not become
// final, or its history lacks what its state has.
var errStalled = errors.New("nothing has become final for " + awayFor.String())

// stalled reports whether a successful read leaves the history's known end more than awayFor behind the chain's current
// time. The read has moved the end to scanned; zero: it has not.
func stalled(wallet transaction.Wallet, scanned, now time.Time) bool {
	if wallet.ScannedTo != nil && wallet.ScannedTo.After(scanned) {
		scanned = *wallet.ScannedTo
	}
	return !scanned.IsZero() && now.Sub(scanned) > awayFor
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// open returns the wallet's position in its history. At the first start that is the end of the history, unless the
// setting requests all of it: a person who paid before must not be sold Stars today.
func (m *Monitor) open(ctx context.Context) (transaction.Wallet, error) {
	wallet, err := m.Store.WalletByAddress(ctx, m.Wallet.Raw())
	if fault.CodeOf(err) != fault.WalletNotFound {
		return wallet, err
	}

	var start transaction.WalletStart
	if !m.Settings.WholeHistory {
		state, err := m.Chain.Wallet(ctx, m.Wallet)
		if err != nil {
			return wallet, err
		}
		start = transaction.WalletStart{
			LT: int64(state.LastLT), Hash: state.LastHash, BalanceNano: int64(state.Balance), Seqno: int64(state.Seqno),
		}
		if err := m.isFinal(ctx, state); err != nil {
			return wallet, err
		}
	}

	return m.Store.OpenWallet(ctx, m.Wallet.Raw(), start)
}

// isFinal checks that the wallet's last transaction is final, before the record begins after it.
func (m *Monitor) isFinal(ctx context.Context, state toncenter.Wallet) error {
	if state.LastLT == 0 {
		return nil
	}

	last, _, err := m.Chain.Transactions(ctx, toncenter.Page{Account: m.Wallet, FromLT: state.LastLT, Limit: 1})
	if err != nil {
		return err
	}
	if len(last) == 0 || last[0].Hash != state.LastHash || last[0].Finality != toncenter.Finalized {
		return fault.New(fault.ChainProtocol, "the wallet's last transaction is not final yet").Retry()
	}

	return nil
}

// recordOf converts a transaction of the chain to the record's form.
func (m *Monitor) recordOf(t toncenter.Transaction) transaction.ChainTransaction {
	r := transaction.ChainTransaction{
		LT: int64(t.LT), Hash: t.Hash, PrevLT: int64(t.PrevLT), PrevHash: t.PrevHash, At: t.At, Aborted: t.Aborted,
		FeeNano: int64(t.Fees),
	}

	if t.Compute != nil {
		r.ComputeOK, r.ExitCode = t.Compute.Success, t.Compute.ExitCode
	}

	if t.Action != nil {
		r.ActionOK, r.SkippedActions = t.Action.Success, t.Action.Skipped
	}

	for _, out := range t.Out {
		r.FeeNano += int64(out.Fee)
		r.Out = append(r.Out, transaction.OutMessage{
			Hash: out.Hash, Destination: raw(out.Destination), Nano: int64(out.Value), BodyHash: out.BodyHash,
		})
	}

	if t.In == nil {
		return r
	}

	r.In = transaction.InMessage{Hash: t.In.Hash, Source: raw(t.In.Source), Nano: int64(t.In.Value), Bounced: t.In.Bounced}
	if r.In.Source == "" {
		r.In.HashNorm = t.In.NormHash
	}

	if t.In.Comment != nil {
		r.Comment = *t.In.Comment
	}

	asks := t.IsDeposit() && !slices.Contains(m.TopUpFrom, t.In.Source)
	order, _ := stars.Parse(r.Comment, m.Settings.MaxStars) // what is wrong with it is decided later
	switch {
	case asks && r.In.Nano >= m.Settings.MinDeposit:
		r.Deposit, r.Username, r.Stars = true, order.Username, order.Stars
	case asks:
		r.TooSmallFor = order.Username
	}
	return r
}

// raw is an address in the record's form; the zero address is empty.
func raw(a ton.Address) string {
	if a == (ton.Address{}) {
		return ""
	}
	return a.Raw()
}
