package status

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// isMessage reports whether an error is told by one of the known messages of transactions, and not by a code.
func isMessage(e operations.WorkloadErrorCount) bool {
	return e.Workload == lifecycle.WorkloadTransaction
}

// countPayments fills in what waits for the wallet, or for a person.
func (s *Status) countPayments(counts core.OverviewCounts) {
	s.PaymentQueue, s.NeedsReview = transaction.PaymentQueue(counts), transaction.NeedsReview(counts)
}
