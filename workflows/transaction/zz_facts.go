package transaction

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// factsOf reads what the guards want to know of a standing.
func factsOf(s store.TransactionSnapshot) lifecycle.TransactionFacts {
	facts := lifecycle.TransactionFacts{Class: s.ErrorClass, NeedsReview: s.NeedsReview, Paid: s.Lost, Owed: s.RefundDue > 0, Disputed: s.Disputed} // of a lost one the operator names the payment
	if p := s.Purchase; p != nil {
		facts.Signed, facts.Paid, facts.Kept = p.State == store.PaymentSigned, p.State == store.PaymentPaid, p.Kept
	}
	return facts
}
