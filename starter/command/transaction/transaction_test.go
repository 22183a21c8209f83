package transaction

import (
	"testing"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
)

// TestWhatIsBought names the order of a transfer, even if there is none.
func TestWhatIsBought(t *testing.T) {
	t.Parallel()
	for want, tx := range map[string]shape.Transaction{
		"50 Stars for durov": {Stars: 50, Username: new("durov")},
		"? Stars for durov":  {Username: new("durov")},
		"no order: the comment names no recipient": {
			Status: lifecycle.TransactionFailed, ErrorClass: new(string(lifecycle.NonRetryable)),
		},
	} {
		if got := StarsText(tx); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	for _, status := range []lifecycle.TransactionState{lifecycle.TransactionPending, lifecycle.TransactionProcessing} {
		if got := StarsText(shape.Transaction{Status: status}); got != "not read yet" {
			t.Errorf("%s: got %q", status, got)
		}
	}
}
