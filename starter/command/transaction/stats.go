package transaction

import (
	"fmt"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStats makes the command about the statistics of transactions.
func NewStats() *cobra.Command {
	return remote.Ask[shape.TransactionStats]{
		Admin: true, Use: "transactions", Short: "Show the statistics of purchases of Stars (administrators only)",
		Call: "GET /v1/stats/transactions",
		Filters: []remote.Filter{{
			Flag: "days", Value: 0, About: "number of most recent days with transactions to show (0: all)",
		}},
		Show: showStats,
	}.Command()
}

func showStats(cmd *cobra.Command, s shape.TransactionStats) error {
	out := cmd.OutOrStdout()
	minutes := ""
	if s.AverageMinutes != nil {
		minutes = fmt.Sprintf(" (%.2f minutes)", *s.AverageMinutes)
	}

	const average, none = "%s on average", "none processed"
	fmt.Fprintf(out, "as of: %s\n", terminal.When(shape.Value(s.AsOf)))
	fmt.Fprintf(out, "from detected to processed, last 24 hours: %s\n", terminal.Seconds(s.AverageSeconds, average, none))
	fmt.Fprintf(out, "from detected to processed, all time: %s%s\n", terminal.Seconds(s.AverageAllTime, average, none), minutes)
	return terminal.Tables(
		out,
		terminal.Rows(s.Statuses, func(c shape.StatusShare) []string {
			return []string{string(c.Status), fmt.Sprint(c.Count), percent(c.Percent)}
		}, "STATUS", "COUNT", "SHARE"),
		terminal.Rows(s.Errors, func(c shape.MessageCount) []string {
			return []string{c.Message, fmt.Sprint(c.Count)}
		}, "ERROR", "COUNT"),
		terminal.Rows(s.Categories, func(c shape.CategoryCount) []string {
			return []string{c.Category, fmt.Sprint(c.Count)}
		}, "CATEGORY", "COUNT"),
		terminal.Rows(s.Days, func(d shape.TransactionsDay) []string {
			return []string{d.Day, fmt.Sprint(d.Total), fmt.Sprint(d.Success), percent(d.SuccessPercent)}
		}, "DAY", "TOTAL", "PROCESSED", "SUCCESS"),
	)
}

func percent(value float64) string { return fmt.Sprintf("%.2f %%", value) }
