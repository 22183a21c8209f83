package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// categories are what a person would say of each message.
var categories = map[string]string{
	"Invalid username":                                 "Username Error",
	"Invalid username format":                          "Username Error",
	"Username not found":                               "Username Error",
	"Stars amount should be at least 50":               "Stars Amount Error",
	"Stars amount exceeds maximum limit":               "Stars Amount Error",
	"Insufficient amount":                              "Stars Amount Error",
	"Invalid comment format":                           "Other Error",
	"Failed to fetch: Network error":                   "Network Error",
	"Request timeout":                                  "Network Error",
	"Wallet service error: Could not send transaction": "Wallet Error",
	"Service unavailable: Fragment API returned 503":   "Fragment API Error",
	"Authorization failed: Session expired":            "Fragment API Error",
	"Cancelled by operator":                            "Other Error",
}

// TestStatsOfTransactions compares the statistics with a count by hand over transactions of many days.
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
		// Within the last 24 hours or clearly not: the database's clock goes on meanwhile.
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

// byCount sorts keys by how many there are, the most first, and then by name.
func byCount[K cmp.Ordered](counts map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
}
