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
			Flag: "days", Value: 30, About: "how many days to show; days without transactions do not count",
		}},
		Show: showStats,
	}.Command()
}

func showStats(cmd *cobra.Command, s shape.TransactionStats) error {
	out := cmd.OutOrStdout()
	const average, none = "%s on average", "none was processed"
	fmt.Fprintf(out, "from seen to processed, in 24 hours: %s\n", terminal.Seconds(s.AverageSeconds, average, none))
	fmt.Fprintf(out, "from seen to processed, over all time: %s%s\n", terminal.Seconds(s.AverageAllTime, average, none), inMinutes(s))
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

func inMinutes(s shape.TransactionStats) string {
	if s.AverageMinutes == nil {
		return ""
	}
	return fmt.Sprintf(" (%.2f minutes)", *s.AverageMinutes)
}
