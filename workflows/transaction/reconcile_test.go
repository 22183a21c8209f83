package transaction

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	service "stagecoach/internal/service/transactions"
)

// TestComparePurchases has a case for every difference between the record and Fragment's list.
func TestComparePurchases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	r := newRecord(t, testdb.New(t), 1)
	r.lock()
	r.sign()
	r.pay()
	paid := r.last
	c := &service.Service{Store: r.store, Balance: func(context.Context, string) (lt, nano int64, err error) {
		return 1 << 60, 0, nil // later than the record: not compared
	}}

	good := service.FragmentPurchase{
		Username: "durov", Stars: 50, PaidNano: 460_900_000, PaymentHash: paid, At: time.Now(),
	}

	other := func(change func(*service.FragmentPurchase)) service.FragmentPurchase { p := good; change(&p); return p }
	compare := func(want string, sold ...service.FragmentPurchase) {
		t.Helper()
		report, err := c.Reconcile(t.Context(), append([]service.FragmentPurchase{}, sold...))
		if err != nil {
			t.Fatal(err)
		}

		got := ""
		for _, d := range report.Differences {
			got += fmt.Sprintf("%s %.4s %d %d; ", d.What, d.Subject, d.Want, d.Got)
		}

		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	ours := r.hash[:4]
	compare("", good)
	compare("paid, and not sold by Fragment yet " + ours + " 1 0; ")
	compare("Stars sold by Fragment "+ours+" 50 49; ", other(func(p *service.FragmentPurchase) { p.Stars = 49 }))
	compare(
		"nanoTON taken by Fragment "+ours+" 460900000 1; ", other(func(p *service.FragmentPurchase) { p.PaidNano = 1 }),
	)
	compare("sold twice by Fragment "+paid[:4]+" 1 2; ", good, good)
	compare(
		"sold by Fragment, unknown to the record ffff 0 1; ", good,
		other(func(p *service.FragmentPurchase) { p.PaymentHash = "ffff" }),
	)
	r.keep(true)
	r.finish()
	compare("processed, but not sold by Fragment " + ours + " 1 0; ")
}
