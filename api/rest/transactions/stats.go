package transactions

import (
	"context"
	"math"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/store/transaction"
)

type transactionStatsInput struct {
	Days int `query:"days" minimum:"1" maximum:"36600" doc:"Number of most recent days with transactions to return; omitted: all"`
}

func (h *handlers) getTransactionStats(
	ctx context.Context, in *transactionStatsInput,
) (none shape.TransactionStats, err error) {
	stats, err := h.transactions.Stats(ctx, in.Days)
	if err != nil {
		return none, err
	}

	return shape.TransactionStats{
		AsOf: stats.AsOf,
		Statuses: shape.List(
			stats.Statuses, func(c transaction.StatusShare) shape.StatusShare { return shape.StatusShare(c) },
		),
		AverageSeconds: stats.AverageSeconds, AverageAllTime: stats.AverageAllTime,
		AverageMinutes: minutes(stats.AverageAllTime),
		Errors: shape.List(
			stats.Errors, func(c transaction.MessageCount) shape.MessageCount { return shape.MessageCount(c) },
		),
		Categories: shape.List(
			stats.Categories, func(c transaction.CategoryCount) shape.CategoryCount { return shape.CategoryCount(c) },
		),
		Days: shape.List(stats.Days, func(d transaction.DayOfTransactions) shape.TransactionsDay {
			return shape.TransactionsDay{
				Day: d.Day.UTC().Format(time.DateOnly), Total: d.Total, Success: d.Success, SuccessPercent: d.SuccessPercent,
				ReceivedNano: d.ReceivedNano, Stars: d.Stars, AverageSeconds: d.AverageSeconds,
			}
		}),
	}, nil
}

// minutes converts seconds to minutes with two decimals.
func minutes(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	rounded := math.Round(*seconds/60*100) / 100
	return &rounded
}
