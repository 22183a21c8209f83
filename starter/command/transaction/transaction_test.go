package transaction

import (
	"testing"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
)

// TestWhatIsBought names the order of a transfer, also where there is none.
func TestWhatIsBought(t *testing.T) {
	t.Parallel()
	for want, tx := range map[string]shape.Transaction{
		"50 Stars for durov":                 {Stars: 50, Username: new("durov")},
		"? Stars for durov":                  {Username: new("durov")},
		"no order: the comment names nobody": {},
		"not read yet":                       {Status: lifecycle.TransactionPending},
	} {
		if got := StarsText(tx); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
