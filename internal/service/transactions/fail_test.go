package transactions

import (
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// TestRetryPolicies has a case for each failure that is not final: how long the system retries, how often, and whether
// an operator is notified in the end.
func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	settings := FailurePolicy{RetryFor: 24 * time.Hour, RetryPause: time.Minute}
	keeps := transaction.RetryPolicy{For: settings.RetryFor, Pause: settings.RetryPause, Ask: true}
	few := keeps
	few.Tries = 3
	asks, ends := transaction.RetryPolicy{Ask: true}, transaction.RetryPolicy{}
	want := map[*stars.Failure]transaction.RetryPolicy{
		stars.Network: keeps, stars.Unavailable: keeps,
		stars.WalletRefused: keeps, stars.SessionExpired: keeps, stars.CannotGift: keeps, stars.NotVerified: keeps, stars.NoWallet: keeps,
		stars.PriceMoved: keeps, stars.LinkExpired: keeps,
		stars.Nonsense: few, stars.Refused: few, stars.Unexplained: few,
		stars.Suspicious: asks, stars.AboveLimit: asks, stars.WorkflowLost: asks,
		stars.Unconfirmed: ends, stars.Cancelled: ends, stars.Terminated: ends,
	}

	for _, f := range stars.Failures {
		if policy, known := want[f]; known == (f.Class == lifecycle.NonRetryable) || known && settings.retryPolicy(f) != policy {
			t.Errorf("%s: %+v, want %+v", f.Message, settings.retryPolicy(f), policy)
		}
	}

	for message, policy := range map[string]transaction.RetryPolicy{"Service unavailable: Fragment API returned 502": keeps, "what nobody knows": few} {
		if got := settings.retryPolicy(stars.Named(message)); got != policy {
			t.Errorf("%s: %+v, want %+v", message, got, policy)
		}
	}
}
