package transaction

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStats makes the command about the statistics of transactions.
func NewStats(t *remote.Target) *cobra.Command {
	days := 30
	cmd := remote.Ask[shape.TransactionStats]{
		As: t.AsAdmin, Use: "transactions", Short: "Show the statistics of purchases of Stars (administrators only)",
		Args: terminal.Exactly(0),
		Call: func([]string) (client.Call, error) {
			query := url.Values{"days": {strconv.Itoa(days)}}
			return client.Call{Method: http.MethodGet, Path: "/v1/stats/transactions", Query: query}, nil
		},
		Show: showStats,
	}.Command()
	cmd.Flags().IntVar(&days, "days", days, "how many days to show; days without transactions do not count")
	return cmd
}

func showStats(cmd *cobra.Command, s shape.TransactionStats) error {
	statuses := [][]string{{"STATUS", "COUNT", "SHARE"}}
	for _, c := range s.Statuses {
		statuses = append(statuses, []string{string(c.Status), fmt.Sprint(c.Count), percent(c.Percent)})
	}

	messages := [][]string{{"ERROR", "COUNT"}}
	for _, c := range s.Errors {
		messages = append(messages, []string{c.Message, fmt.Sprint(c.Count)})
	}

	categories := [][]string{{"CATEGORY", "COUNT"}}
	for _, c := range s.Categories {
		categories = append(categories, []string{c.Category, fmt.Sprint(c.Count)})
	}

	days := [][]string{{"DAY", "TOTAL", "PROCESSED", "SUCCESS"}}
	for _, d := range s.Days {
		days = append(days, []string{d.Day, fmt.Sprint(d.Total), fmt.Sprint(d.Success), percent(d.SuccessPercent)})
	}

	out := cmd.OutOrStdout()
	const average, none = "%s on average", "none was processed"
	fmt.Fprintf(out, "from seen to processed, in 24 hours: %s\n", terminal.Seconds(s.AverageSeconds, average, none))
	fmt.Fprintf(out, "from seen to processed, over all time: %s\n", terminal.Seconds(s.AverageAllTime, average, none))
	return terminal.Tables(out, statuses, messages, categories, days)
}

func percent(value float64) string { return fmt.Sprintf("%.2f %%", value) }
