package transaction

import (
	"strings"
	"testing"

	"stagecoach/internal/money"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// TestRecipientOfASmallTransfer reads the comments of transfers below the minimum, and of no others.
func TestRecipientOfASmallTransfer(t *testing.T) {
	t.Parallel()
	customer, _, err := ton.ParseAddress("0:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}

	ours, _, err := ton.ParseAddress("0:" + strings.Repeat("2", 64))
	if err != nil {
		t.Fatal(err)
	}

	m := &Monitor{TopUpFrom: []ton.Address{ours}, Settings: Settings{MinDeposit: 50}}
	for name, c := range map[string]struct {
		source  ton.Address
		nano    money.Nano
		comment string
		want    string
		deposit bool
	}{
		"small":               {customer, 49, "@durov", "durov", false},
		"small, with Stars":   {customer, 49, "durov 100", "durov", false},
		"small, too few":      {customer, 49, "durov 1", "durov", false},
		"small, without name": {customer, 49, "hello, who are you?", "", false},
		"small, ours":         {ours, 49, "durov", "", false},
		"not small":           {customer, 50, "durov", "", true},
		"from outside":        {ton.Address{}, 49, "durov", "", false},
	} {
		got := m.recordOf(toncenter.Transaction{In: &toncenter.Message{Source: c.source, Value: c.nano, Comment: &c.comment}})
		if got.TooSmallFor != c.want || got.Deposit != c.deposit {
			t.Errorf("%s: %q is told, a deposit %v; want %q, %v", name, got.TooSmallFor, got.Deposit, c.want, c.deposit)
		}
	}
}
