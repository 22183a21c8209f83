package store

import (
	"context"
	"time"
)

// TransactionStats are the statistics of transactions for operators.
type TransactionStats struct {
	Statuses       []StatusShare       // those that occur, the most frequent first
	AverageSeconds *float64            // from detection to processed, of those detected in the last 24 hours; nil: none
	Errors         []MessageCount      // of failed ones, the most frequent first
	Categories     []CategoryCount     // the same
	Days           []DayOfTransactions // by the day of detection (UTC), the newest first
}

// StatusShare is how many transactions are in a status.
type StatusShare struct {
	Status  TransactionStatus `db:"status"`
	Count   int64             `db:"count"`
	Percent float64           `db:"percent"` // of all, with two decimals
}

// MessageCount is how often transactions failed with a message.
type MessageCount struct {
	Message string `db:"message"`
	Count   int64  `db:"count"`
}

// CategoryCount is how often transactions failed with errors of a category.
type CategoryCount struct {
	Category string `db:"category"`
	Count    int64  `db:"count"`
}

// DayOfTransactions is how transactions of one day went.
type DayOfTransactions struct {
	Day            time.Time `db:"day"`
	Total          int64     `db:"total"`
	Success        int64     `db:"success"`
	SuccessPercent float64   `db:"success_percent"` // with two decimals
}

// StatsOfTransactions counts all transactions; days lists that many days.
func (s *Store) StatsOfTransactions(ctx context.Context, days int) (TransactionStats, error) {
	panic("not built yet") // the API comes first
}
