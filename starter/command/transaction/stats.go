package transaction

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// transactionStats say how transactions go, as the API shows it.
type transactionStats struct {
	Statuses []struct {
		Status  string  `json:"status"`
		Count   int64   `json:"count"`
		Percent float64 `json:"percent"`
	} `json:"statuses"`
	AverageSeconds *float64 `json:"average_processing_seconds"` // nil: none was processed
	AverageAllTime *float64 `json:"average_processing_seconds_all_time"`
	Errors         []struct {
		Message string `json:"message"`
		Count   int64  `json:"count"`
	} `json:"errors"`
	Categories []struct {
		Category string `json:"category"`
		Count    int64  `json:"count"`
	} `json:"error_categories"`
	Days []struct {
		Day            string  `json:"day"`
		Total          int64   `json:"total"`
		Success        int64   `json:"success"`
		SuccessPercent float64 `json:"success_percent"`
	} `json:"days"`
}

func NewStats(t *remote.Target) *cobra.Command {
	days := 30
	cmd := remote.AskAs(t.AsAdmin, "transactions", "How purchases of Stars go (for administrators)", terminal.Between(0, 0), func([]string) (client.Call, error) {
		return client.Call{
			Method: http.MethodGet, Path: "/v1/stats/transactions", Query: url.Values{"days": {strconv.Itoa(days)}},
		}, nil
	}, showTransactionStats)
	cmd.Flags().IntVar(&days, "days", days, "how many days to show, of those on which there were transactions")
	return cmd
}

func showTransactionStats(cmd *cobra.Command, s transactionStats) error {
	out := cmd.OutOrStdout()
	statuses := [][]string{{"STATUS", "COUNT", "SHARE"}}
	for _, c := range s.Statuses {
		statuses = append(statuses, []string{c.Status, fmt.Sprint(c.Count), percentText(c.Percent)})
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
		days = append(days, []string{d.Day, fmt.Sprint(d.Total), fmt.Sprint(d.Success), percentText(d.SuccessPercent)})
	}

	fmt.Fprintf(
		out, "from seen to processed, in 24 hours: %s\n", terminal.Seconds(s.AverageSeconds, "%s on average", "none was"),
	)
	fmt.Fprintf(
		out, "from seen to processed, over all time: %s\n", terminal.Seconds(s.AverageAllTime, "%s on average", "none was"),
	)

	for _, rows := range [][][]string{statuses, messages, categories, days} {
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintln(out)
		if err := terminal.Table(out, rows); err != nil {
			return err
		}
	}

	return nil
}

func percentText(percent float64) string { return fmt.Sprintf("%.2f %%", percent) }
