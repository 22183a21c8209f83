package transaction

import (
	"strings"
	"testing"

	"stagecoach/internal/money"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// TestWhomASmallTransferNames reads the comments of transfers below the minimum, and of nothing else.
func TestWhomASmallTransferNames(t *testing.T) {
	t.Parallel()
	customer, _, err := ton.ParseAddress("0:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}

	ours, _, err := ton.ParseAddress("0:" + strings.Repeat("2", 64))
	if err != nil {
		t.Fatal(err)
	}

	m := &Monitor{TopUpFrom: []ton.Address{ours}}
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
		got := m.recordOf(toncenter.Transaction{In: &toncenter.Message{Source: c.source, Value: c.nano, Comment: &c.comment}}, 50)
		if got.TooSmallFor != c.want || got.Deposit != c.deposit {
			t.Errorf("%s: %q is told, a deposit %v; want %q, %v", name, got.TooSmallFor, got.Deposit, c.want, c.deposit)
		}
	}
}

// TestLeastDeposit follows the price of the last order down by a fifth, and never below the setting.
func TestLeastDeposit(t *testing.T) {
	t.Parallel()
	m := &Monitor{Settings: Settings{MinDeposit: 50}}
	for price, want := range map[int64]money.Nano{0: 50, 60: 50, 100: 80, 1000: 800} {
		if got := m.leastDeposit(transaction.Wallet{LeastNano: price}); got != want {
			t.Errorf("at a price of %d the least is %d, want %d", price, got, want)
		}
	}
}
