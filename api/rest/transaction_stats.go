package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

type transactionStatsBody struct {
	Statuses       []statusShareBody     `json:"statuses" doc:"Those that occur, the most frequent first, here and below"`
	AverageSeconds *float64              `json:"average_processing_seconds" example:"21.4" doc:"From detection to processed, of those detected in the last 24 hours; null: there are none"`
	AverageAllTime *float64              `json:"average_processing_seconds_all_time" example:"24.9" doc:"The same of all transactions; null: none was processed"`
	Errors         []messageCountBody    `json:"errors" doc:"Of failed transactions, by message"`
	Categories     []categoryCountBody   `json:"error_categories" doc:"The same by category"`
	Days           []transactionsDayBody `json:"days" doc:"By the day of detection (UTC), the newest first"`
}

type statusShareBody struct {
	Status  lifecycle.TransactionState `json:"status" enum:"pending,processing,processed,failed"`
	Count   int64                      `json:"count" example:"97"`
	Percent float64                    `json:"percent" example:"96.04" doc:"Of all transactions"`
}

type messageCountBody struct {
	Message string `json:"message" example:"Username not found"`
	Count   int64  `json:"count" example:"3"`
}

type categoryCountBody struct {
	Category string `json:"category" enum:"Username Error,Stars Amount Error,Network Error,Wallet Error,Fragment API Error,Other Error"`
	Count    int64  `json:"count" example:"3"`
}

type transactionsDayBody struct {
	Day            string  `json:"day" example:"2026-03-01"`
	Total          int64   `json:"total" example:"101"`
	Success        int64   `json:"success" example:"97"`
	SuccessPercent float64 `json:"success_percent" example:"96.04"`
}

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
) (*answer[transactionStatsBody], error) {
	stats, err := s.o.Transactions.Stats(ctx, in.Days)
	if err != nil {
		return nil, err
	}
	return answered(transactionStatsBody{
		Statuses:       mapped(stats.Statuses, func(c store.StatusShare) statusShareBody { return statusShareBody(c) }),
		AverageSeconds: stats.AverageSeconds, AverageAllTime: stats.AverageAllTime,
		Errors:     mapped(stats.Errors, func(c store.MessageCount) messageCountBody { return messageCountBody(c) }),
		Categories: mapped(stats.Categories, func(c store.CategoryCount) categoryCountBody { return categoryCountBody(c) }),
		Days: mapped(stats.Days, func(d store.DayOfTransactions) transactionsDayBody {
			return transactionsDayBody{utc(d.Day).Format(time.DateOnly), d.Total, d.Success, d.SuccessPercent}
		}),
	}), nil
}
