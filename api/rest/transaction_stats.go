package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

type transactionStatsInput struct {
	Days int `query:"days" default:"30" minimum:"1" maximum:"366" doc:"How many days to give, of those on which there were transactions"`
}

func (s *server) registerTransactionStats() {
	register(s, operation{
		id: "get-transaction-stats", method: http.MethodGet, path: "/v1/stats/transactions", tag: "Transactions",
		access: forAdmins, scope: store.ScopeOperate,
		summary: "How transactions go", faults: []fault.Code{fault.NotConfigured},
	}, s.getTransactionStats)
}

func (s *server) getTransactionStats(
	ctx context.Context, in *transactionStatsInput,
) (*answer[shape.TransactionStats], error) {
	stats, err := s.o.Transactions.Stats(ctx, in.Days)
	if err != nil {
		return nil, err
	}
	return answered(shape.TransactionStats{
		Statuses:       mapped(stats.Statuses, func(c store.StatusShare) shape.StatusShare { return shape.StatusShare(c) }),
		AverageSeconds: stats.AverageSeconds, AverageAllTime: stats.AverageAllTime,
		Errors: mapped(stats.Errors, func(c store.MessageCount) shape.MessageCount { return shape.MessageCount(c) }),
		Categories: mapped(
			stats.Categories, func(c store.CategoryCount) shape.CategoryCount { return shape.CategoryCount(c) },
		),
		Days: mapped(stats.Days, func(d store.DayOfTransactions) shape.TransactionsDay {
			return shape.TransactionsDay{
				Day: utc(d.Day).Format(time.DateOnly), Total: d.Total, Success: d.Success, SuccessPercent: d.SuccessPercent,
			}
		}),
	}), nil
}
