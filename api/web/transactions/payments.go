package transactions

import (
	"fmt"
	"time"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
)

type paymentsView struct {
	shape.Queue
	Solvency shape.Solvency
}

// showPayments shows the wallet's balance on the chain and in the ledger, what blocks payments, and who waits for one.
func showPayments(r *site.Request) (site.View, error) {
	var view paymentsView
	err := r.ReadAll(
		site.Into(&view.Queue, "/v1/payments/queue"), site.Into(&view.Solvency, "/v1/payments/solvency"),
	)
	return site.View{Data: view}, err
}

type figuresView struct {
	shape.TransactionStats
	Charts []site.Chart
}

// showFigures shows the statistics of all transactions, and charts of the last days.
func showFigures(r *site.Request) (site.View, error) {
	stats, err := site.Get[shape.TransactionStats](r, "/v1/stats/transactions")
	return site.View{Data: figuresView{stats, charts(r.Language, stats)}}, err
}

// charts shows volume, success rate and processing time.
func charts(language string, stats shape.TransactionStats) []site.Chart {
	days := lastDays(stats.Days)
	daily := func(title string, bar func(shape.TransactionsDay) (float64, string)) site.Chart {
		chart := site.Chart{Title: texts[title].In(language)}
		for _, day := range days {
			value, text := bar(day)
			chart.Bars = append(chart.Bars, site.Bar{Label: words.Day(language, day.Day), Value: value, Text: text})
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
			return d.SuccessPercent, texts["tx-success-of"].In(language, words.Share(language, d.SuccessPercent), d.Success, d.Total)
		}),
		daily("tx-chart-time", func(d shape.TransactionsDay) (float64, string) {
			return shape.Value(d.AverageSeconds), words.Seconds(language, d.AverageSeconds)
		}),
	}
}

const chartDays = 30

// lastDays are the days up to the last one with transactions, oldest first, including days without any.
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
