package transactions

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr"

	"stagecoach/api/shape"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// rectangle matches one piece of a code's path.
var rectangle = regexp.MustCompile(`^M(\d+) (\d+)h(\d+)v1H(\d+)z`)

// drawn converts a path back into black modules.
func drawn(t *testing.T, c code) *image.Gray {
	t.Helper()
	modules := image.NewGray(image.Rect(0, 0, c.Side, c.Side))
	for i := range modules.Pix {
		modules.Pix[i] = 255
	}
	for rest := c.Path; rest != ""; {
		m := rectangle.FindStringSubmatch(rest)
		if m == nil {
			t.Fatalf("the path goes on with %.40s", rest)
		}
		number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
		if number(1) != number(4) {
			t.Fatalf("%s does not come back to its beginning", m[0])
		}
		for x := range number(3) {
			modules.SetGray(number(1)+x, number(2), color.Gray{})
		}
		rest = rest[len(m[0]):]
	}
	return modules
}

// TestACodeIsDrawn compares drawn codes of many lengths with the encoder's modules, and checks their border.
func TestACodeIsDrawn(t *testing.T) {
	t.Parallel()
	for length := 1; length < 400; length += 7 {
		text := strings.Repeat("ton://transfer/UQ?amount=1&text=durov%2050 ", 10)[:length]
		c, err := codeOf(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := qr.Encode(text, qr.M)
		if err != nil {
			t.Fatal(err)
		}

		modules := drawn(t, *c)
		for y := range c.Side {
			for x := range c.Side {
				if black := modules.GrayAt(x, y).Y == 0; black != want.Black(x-quiet, y-quiet) {
					t.Fatalf("%d characters: module %d, %d is black: %t", length, x, y, black)
				}
			}
		}
	}
	if _, err := codeOf(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that is too long has a code")
	}
}

// enum lists the values that a field of the API may have.
func enum[T any](t *testing.T, field string) []string {
	t.Helper()
	found, _ := reflect.TypeFor[T]().FieldByName(field)
	return strings.Split(found.Tag.Get("enum"), ",")
}

// TestEverythingHasWords checks the texts that templates look up by a code.
func TestEverythingHasWords(t *testing.T) {
	t.Parallel()
	var keys []string
	add := func(prefix string, names ...string) {
		for _, name := range names {
			keys = append(keys, prefix+name)
		}
	}

	for _, rule := range lifecycle.Transaction.Rules {
		if rule.Event != "" {
			add("tx-event-", rule.Event)
		}
	}
	add("tx-event-", lifecycle.TransactionDust, lifecycle.TransactionStuck, lifecycle.TransactionGivenUp,
		lifecycle.TransactionPaid, lifecycle.TransactionKept, lifecycle.TransactionDead, lifecycle.TransactionBounced)
	for _, outcome := range lifecycle.TransactionOutcomes {
		add("tx-outcome-", string(outcome))
	}
	for _, account := range transaction.Accounts {
		add("tx-account-", string(account))
	}
	add("tx-state-", lifecycle.Transaction.StateNames()...)
	for _, failure := range stars.Failures {
		add("tx-category-", string(stars.CategoryOf(failure.Message)))
		add("tx-class-", string(failure.Class))
		if _, known := words.FailureTexts[failure.Message]; failure.AboutOrder() && !known {
			t.Errorf("there are no words for %q", failure.Message)
		}
	}
	for _, state := range enum[shape.Receipt](t, "State") {
		add("receipt-", state)
		if followUps[state] == (words.Text{}) {
			t.Errorf("nobody says what follows %s", state)
		}
	}
	add("receipt-step-", enum[shape.ReceiptStep](t, "Step")...)
	for _, name := range []transaction.PaymentState{transaction.PaymentSigned, transaction.PaymentPaid, transaction.PaymentDead, transaction.PaymentBounced} {
		add("tx-payment-", string(name))
	}
	add("tx-kind-", string(transaction.Purchase), string(transaction.Refund))
	for _, key := range keys {
		if _, known := texts[key]; !known {
			t.Errorf("there is no text %q", key)
		}
	}
}

// TestKept asks the payer to write about an order's money only where none has moved.
func TestKept(t *testing.T) {
	t.Parallel()
	failed := func(change func(*shape.WholeTransaction)) shape.WholeTransaction {
		class := string(lifecycle.NonRetryable)
		order := shape.WholeTransaction{Transaction: shape.Transaction{Status: lifecycle.TransactionFailed, ErrorClass: &class}}
		change(&order)
		return order
	}
	paid := func(kind transaction.PaymentKind) func(*shape.WholeTransaction) {
		return func(t *shape.WholeTransaction) {
			t.Payments = []shape.Payment{{Kind: string(kind), State: string(transaction.PaymentPaid)}}
		}
	}
	if !isKept(failed(func(*shape.WholeTransaction) {})) {
		t.Error("nothing was bought, and nothing follows")
	}
	for name, change := range map[string]func(*shape.WholeTransaction){
		"dust": func(t *shape.WholeTransaction) { t.DustNano = 1 }, "paid for": paid(transaction.Purchase), "paid back": paid(transaction.Refund),
	} {
		if isKept(failed(change)) {
			t.Errorf("%s: the money is asked for", name)
		}
	}
}

// TestDustHidesNoTransfer shows what has bought something, or may, before others' small transfers.
func TestDustHidesNoTransfer(t *testing.T) {
	t.Parallel()
	const least = 100
	dust := shape.Receipt{State: "failed", Final: true, AmountNano: 1}
	fresh := shape.Receipt{State: "received", AmountNano: 2}
	short := shape.Receipt{State: "failed", Final: true, AmountNano: 90}
	waits := shape.Receipt{State: "received", AmountNano: least}
	bought := shape.Receipt{State: "bought", Final: true, AmountNano: 200}
	got := mostLikely([]shape.Receipt{dust, fresh, dust, dust, fresh, dust, waits, dust, short, bought}, least)
	if want := []shape.Receipt{waits, bought, short, fresh, fresh}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := mostLikely(nil, least); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestCharts shows days from the oldest to the newest.
func TestCharts(t *testing.T) {
	t.Parallel()
	seconds := 21.4
	drawn := charts(words.English, shape.TransactionStats{Days: []shape.TransactionsDay{
		{Day: "2026-03-02", Total: 3, Success: 2, SuccessPercent: 66.67, ReceivedNano: 2_500_000_000, Stars: 100, AverageSeconds: &seconds},
		{Day: "2026-02-28", Total: 1},
		{Day: "2025-03-01", Total: 7},
	}})

	var text bytes.Buffer
	for _, chart := range drawn {
		fmt.Fprint(&text, chart.Title, " ", len(chart.Bars), " ", chart.Bars[0].Label, ":")
		for _, bar := range chart.Bars[len(chart.Bars)-3:] {
			fmt.Fprintf(&text, " %s %s,", bar.Label, bar.Text)
		}
		fmt.Fprintln(&text)
	}
	want := `Received by day 30 1 Feb 2026: 28 Feb 2026 0 GRAM, 1 Mar 2026 0 GRAM, 2 Mar 2026 2.5 GRAM,
Stars bought by day 30 1 Feb 2026: 28 Feb 2026 0, 1 Mar 2026 0, 2 Mar 2026 100,
Processed of those detected, by day 30 1 Feb 2026: 28 Feb 2026 0 % (0 of 1), 1 Mar 2026 0 % (0 of 0), 2 Mar 2026 66.67 % (2 of 3),
Average processing time by day 30 1 Feb 2026: 28 Feb 2026 not known, 1 Mar 2026 not known, 2 Mar 2026 21 s,
`
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", &text, want)
	}
	for _, chart := range charts(words.Russian, shape.TransactionStats{}) {
		if len(chart.Bars) != 0 {
			t.Errorf("a chart of nothing: %+v", chart)
		}
	}
}
