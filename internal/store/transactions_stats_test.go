package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// categories are the documented ones of some messages.
var categories = map[string]string{
	"Invalid username":                                 "Username Error",
	"Invalid username format":                          "Username Error",
	"Username not found":                               "Other Error",
	"Stars amount should be at least 50":               "Stars Amount Error",
	"Stars amount exceeds maximum limit":               "Stars Amount Error",
	"Insufficient amount":                              "Other Error",
	"Invalid comment format":                           "Other Error",
	"Failed to fetch: Network error":                   "Network Error",
	"Request timeout":                                  "Network Error",
	"Wallet service error: Could not send transaction": "Wallet Error",
	"Service unavailable: Fragment API returned 503":   "Fragment API Error",
	"Authorization failed: Session expired":            "Other Error",
	"Cancelled by operator":                            "Other Error",
}

// TestStatsOfTransactions compares the statistics with a manual count over transactions of many days.
func TestStatsOfTransactions(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	if got, err := b.Transactions.Stats(t.Context(), 5); err != nil || got.AverageSeconds != nil || got.AverageAllTime != nil || len(got.Statuses)+len(got.Days) != 0 {
		t.Errorf("of nothing: %+v, %v", got, err)
	}

	draw := rand.New(rand.NewPCG(1, 2))
	messages := slices.Sorted(maps.Keys(categories))
	now := time.Now().UTC()
	var rows []transaction.Transaction

	for i := range 200 {
		hash := digest("statistic", i)
		row := transaction.Transaction{
			State: lifecycle.Transaction.States[draw.IntN(4)].State, AmountNano: 1 + draw.Int64N(1e12), Stars: draw.Int64N(1000),
		}
		// Within the last 24 hours or clearly not: the database's clock advances meanwhile.
		row.CreatedAt = now.Add(-time.Duration(draw.IntN(9*24*60))*time.Minute - 30*time.Second)
		row.UpdatedAt = row.CreatedAt.Add(time.Duration(draw.IntN(5000)) * time.Second)
		attempt, since, paid := 1, &row.CreatedAt, ""

		switch row.State {
		case lifecycle.TransactionPending:
			attempt, since = 0, nil
		case lifecycle.TransactionProcessed:
			paid = hash
		case lifecycle.TransactionFailed:
			row.ErrorMessage = messages[draw.IntN(len(messages))]
			row.ErrorClass = lifecycle.UnknownError
		case lifecycle.TransactionProcessing:
		}

		b.exec(`INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, error_message, error_class,
			fragment_transaction_hash, processing_since, created_at, updated_at, stars)
			VALUES ($1, $2, $3, $12, 's', '', $4, $5, $6, $7, $8, $9, $10, $11, $13)`,
			hash, b.wallet, i+1, row.State, attempt, row.ErrorMessage, row.ErrorClass, paid, since, row.CreatedAt, row.UpdatedAt,
			row.AmountNano, row.Stars)
		rows = append(rows, row)
	}

	testdb.Recount(t, b.Store)
	got, err := b.Transactions.Stats(t.Context(), 5)
	b.must(err)
	if all, err := b.Transactions.Stats(t.Context(), 0); err != nil || len(all.Days) < 9 || !reflect.DeepEqual(all.Days[:5], got.Days) {
		t.Errorf("all days: %+v, %v", all.Days, err)
	}

	statuses, errors, kinds, days, good := map[lifecycle.TransactionState]int64{}, map[string]int64{}, map[string]int64{}, map[time.Time]int64{}, map[time.Time]int64{}
	sums, took := map[time.Time]transaction.DayOfTransactions{}, map[time.Time]float64{}
	var seconds, quick, allSeconds, all float64
	for _, row := range rows {
		statuses[row.State]++
		day := row.CreatedAt.Truncate(24 * time.Hour)
		days[day]++
		sum := sums[day]
		sum.ReceivedNano += row.AmountNano
		switch row.State {
		case lifecycle.TransactionFailed:
			errors[row.ErrorMessage]++
			kinds[categories[row.ErrorMessage]]++
		case lifecycle.TransactionProcessed:
			good[day]++
			sum.Stars += row.Stars
			took[day] += row.UpdatedAt.Sub(row.CreatedAt).Seconds()
			allSeconds += row.UpdatedAt.Sub(row.CreatedAt).Seconds()
			all++
			if now.Sub(row.CreatedAt) < 24*time.Hour {
				seconds += row.UpdatedAt.Sub(row.CreatedAt).Seconds()
				quick++
			}
		case lifecycle.TransactionPending, lifecycle.TransactionProcessing:
		}
		sums[day] = sum
	}

	percent := func(part, whole int64) float64 { return math.Round(1e4*float64(part)/float64(whole)) / 100 }
	var wantStatuses []transaction.StatusShare
	for _, status := range byCount(statuses) {
		wantStatuses = append(
			wantStatuses,
			transaction.StatusShare{Status: status, Count: statuses[status], Percent: percent(statuses[status], int64(len(rows)))},
		)
	}

	var wantErrors []transaction.MessageCount
	for _, message := range byCount(errors) {
		wantErrors = append(wantErrors, transaction.MessageCount{Message: message, Count: errors[message]})
	}

	var wantKinds []transaction.CategoryCount
	for _, kind := range byCount(kinds) {
		wantKinds = append(wantKinds, transaction.CategoryCount{Category: kind, Count: kinds[kind]})
	}

	var wantDays []transaction.DayOfTransactions
	for _, day := range slices.SortedFunc(maps.Keys(days), func(a, b time.Time) int { return b.Compare(a) })[:5] {
		want := sums[day]
		want.Day, want.Total, want.Success = day, days[day], good[day]
		want.SuccessPercent = percent(good[day], days[day])
		if good[day] > 0 {
			average := took[day] / float64(good[day])
			want.AverageSeconds = &average
		}
		wantDays = append(wantDays, want)
	}

	for i := range got.Days {
		day := &got.Days[i]
		day.Day = day.Day.UTC()
		if average := wantDays[i].AverageSeconds; average != nil && math.Abs(*day.AverageSeconds-*average) < 1e-6 {
			day.AverageSeconds = average
		}
	}

	for name, c := range map[string][2]any{
		"statuses": {got.Statuses, wantStatuses}, "errors": {got.Errors, wantErrors}, "categories": {got.Categories, wantKinds}, "days": {got.Days, wantDays},
	} {
		if !reflect.DeepEqual(c[0], c[1]) {
			t.Errorf("%s: got %+v, want %+v", name, c[0], c[1])
		}
	}

	if got.AverageSeconds == nil || math.Abs(*got.AverageSeconds-seconds/quick) > 1e-6 {
		t.Errorf("average %v, want %v", got.AverageSeconds, seconds/quick)
	}
	if got.AverageAllTime == nil || math.Abs(*got.AverageAllTime-allSeconds/all) > 1e-3 {
		t.Errorf("average of all time %v, want %v", got.AverageAllTime, allSeconds/all)
	}
}

// TestCategoriesOfErrors compares the categories with the CASE that defines them. It was written for SQLite, whose LIKE
// ignores the case of ASCII letters only, as lower does with the collation C.
func TestCategoriesOfErrors(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	messages := []string{
		"INVALID USERNAME", "x: invalid username.", "invalid  username", "username", "Invalid user name", "Invalid username: Stars amount",
		"the stars amount", "STARS AMOUNT and network", "stars  amount", "Insufficient amount", "NETWORK", "networks of wallets", "net work",
		"TimeOut of Fragment", "timed out", "WALLET of Fragment", "wallets", "FRAGMENTS", "fragment: authorization failed", "authorization failed",
		"Networ\u212a error", "\u017ftars amount", "\u0130nvalid username", "invalid_username", "Сеть: network", "Кошелёк", "%wallet%", "a\nfragment\nb",
	}
	for message := range categories {
		messages = append(messages, message, strings.ToUpper(message), "Кошелёк: "+message)
	}
	for _, f := range stars.Failures {
		messages = append(messages, f.Message)
	}
	slices.Sort(messages)
	messages = slices.Compact(messages)

	b.exec(`INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, error_message, error_class, processing_since)
		SELECT encode(sha256(message::bytea), 'hex'), $1, n, 1, 's', '', 'failed', 1, message, 'unknown', now()
		FROM unnest($2::text[]) WITH ORDINALITY m (message, n)`, b.wallet, messages)
	testdb.Recount(t, b.Store)
	got, err := b.Transactions.Stats(t.Context(), 1)
	b.must(err)

	rows, err := testdb.DB(t, b.url).Query(t.Context(), `SELECT category, count(*) FROM (SELECT CASE
			WHEN m LIKE '%invalid username%' THEN 'Username Error'
			WHEN m LIKE '%stars amount%' THEN 'Stars Amount Error'
			WHEN m LIKE '%network%' OR m LIKE '%timeout%' THEN 'Network Error'
			WHEN m LIKE '%wallet%' THEN 'Wallet Error'
			WHEN m LIKE '%fragment%' THEN 'Fragment API Error'
			ELSE 'Other Error'
		END AS category
		FROM (SELECT lower(error_message COLLATE "C") AS m FROM transactions) t) c GROUP BY category ORDER BY count(*) DESC, category COLLATE "C"`)
	b.must(err)
	want, err := pgx.CollectRows(rows, pgx.RowToStructByPos[transaction.CategoryCount])
	b.must(err)
	if len(want) != 6 || !slices.Equal(got.Categories, want) {
		t.Errorf("got %v, want %v", got.Categories, want)
	}
}

// TestStatsSayWhenTheyCounted changes rows after a count: the statistics are as of that count until the next one.
func TestStatsSayWhenTheyCounted(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	if got, err := b.Transactions.Stats(t.Context(), 0); err != nil || got.AsOf != nil {
		t.Errorf("before the first count: %v, %v", got.AsOf, err)
	}

	var before, after time.Time
	clock := testdb.DB(t, b.url)
	b.must(clock.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&before))
	testdb.Recount(t, b.Store)
	b.must(clock.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&after))

	b.deposit("later", 1e9)
	got, err := b.Transactions.Stats(t.Context(), 0)
	if err != nil || got.AsOf == nil || got.AsOf.Before(before) || got.AsOf.After(after) || len(got.Statuses) != 0 {
		t.Errorf("as of %v with %v, want between %v and %v without any: %v", got.AsOf, got.Statuses, before, after, err)
	}
}

// byCount sorts keys by count, descending, and then by name.
func byCount[K cmp.Ordered](counts map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
}
