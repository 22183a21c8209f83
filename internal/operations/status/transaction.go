package status

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// isMessage reports whether an error is one of the known messages of transactions instead of a code.
func isMessage(e operations.WorkloadErrorCount) bool {
	return e.Workload == lifecycle.WorkloadTransaction
}

// countPayments fills in what waits for the wallet, or for a person.
func (s *Status) countPayments(counts core.OverviewCounts) {
	s.PaymentQueue, s.NeedsReview = transaction.PaymentQueue(counts), transaction.NeedsReview(counts)
}

// payments fills in the wallet's balance, and what stops payments.
func (r *Reporter) payments(ctx context.Context, s *Status) (err error) {
	s.Wallet, s.Stops, err = r.o.Store.Transactions.PaymentState(ctx)
	return err
}
