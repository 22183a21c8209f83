package transactions

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
)

type paymentsView struct {
	shape.Queue
	Solvency shape.Solvency
	Sections []tab
}

// showPayments shows what the wallet has by the chain and by the ledger, what stops payments, and who waits for one.
func showPayments(_ context.Context, r *site.Request) (site.View, error) {
	queue, err := site.Get[shape.Queue](r, "/v1/payments/queue", nil)
	if err != nil {
		return site.View{}, err
	}
	solvency, err := site.Get[shape.Solvency](r, "/v1/payments/solvency", nil)
	return site.View{Title: texts["tx-payments"].In(r.Language), Data: paymentsView{
		queue, solvency, sections("/transactions/payments"),
	}}, err
}

func pause(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Post[shape.Switches](
		r, "/v1/payments/pause", map[string]string{"reason": r.PostFormValue("reason")},
	)
	return "/transactions/payments", err
}

func resume(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Post[shape.Switches](r, "/v1/payments/resume", nil)
	return "/transactions/payments", err
}

type figuresView struct {
	shape.TransactionStats
	Charts   []site.Chart
	Sections []tab
}

// showFigures shows the statistics of all transactions, and charts of the last days.
func showFigures(_ context.Context, r *site.Request) (site.View, error) {
	stats, err := site.Get[shape.TransactionStats](
		r, "/v1/stats/transactions", url.Values{"days": {strconv.Itoa(chartDays)}},
	)
	return site.View{Title: texts["tx-figures"].In(r.Language), Data: figuresView{
		stats, charts(r.Language, stats), sections("/transactions/figures"),
	}}, err
}

// charts are those of volume, success and processing time.
func charts(language string, stats shape.TransactionStats) []site.Chart {
	days := lastDays(stats.Days)
	daily := func(title string, bar func(shape.TransactionsDay) (float64, string)) site.Chart {
		chart := site.Chart{Title: texts[title].In(language)}
		for _, day := range days {
			value, text := bar(day)
			chart.Bars = append(chart.Bars, site.Bar{Label: day.Day, Value: value, Text: text})
		}
		return chart
	}

	return []site.Chart{
		daily("tx-chart-volume", func(d shape.TransactionsDay) (float64, string) {
			return float64(d.ReceivedNano), words.Gram(language, d.ReceivedNano)
		}),
		daily("tx-chart-stars", func(d shape.TransactionsDay) (float64, string) {
			return float64(d.Stars), fmt.Sprint(d.Stars)
		}),
		daily("tx-chart-success", func(d shape.TransactionsDay) (float64, string) {
			percent := words.Decimal(language, fmt.Sprintf("%.4g", d.SuccessPercent))
			return d.SuccessPercent, texts["tx-success-of"].In(language, percent, d.Success, d.Total)
		}),
		daily("tx-chart-time", func(d shape.TransactionsDay) (float64, string) {
			return shape.Value(d.AverageSeconds), words.Seconds(language, d.AverageSeconds)
		}),
	}
}

const chartDays = 30

// lastDays are the days up to the last one on which there were transactions, from the oldest to the newest. Those
// without any are empty.
func lastDays(found []shape.TransactionsDay) (days []shape.TransactionsDay) {
	if len(found) == 0 {
		return nil
	}

	known := map[string]shape.TransactionsDay{}
	for _, day := range found {
		known[day.Day] = day
	}

	last, err := time.Parse(time.DateOnly, found[0].Day)
	if err != nil {
		return nil
	}

	for ago := chartDays - 1; ago >= 0; ago-- {
		name := last.AddDate(0, 0, -ago).Format(time.DateOnly)
		day := known[name]
		day.Day = name
		days = append(days, day)
	}
	return days
}
