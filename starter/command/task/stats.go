package task

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// taskStats says how work goes in a workspace, as the API shows it. Times are seconds; nil when no task was done.
type taskStats struct {
	Created         int64    `json:"created"`
	Done            int64    `json:"done"`
	Cancelled       int64    `json:"cancelled"`
	LeadTime        *float64 `json:"lead_time_seconds"`
	LeadTimeMedian  *float64 `json:"lead_time_median_seconds"`
	CycleTime       *float64 `json:"cycle_time_seconds"`
	CycleTimeMedian *float64 `json:"cycle_time_median_seconds"`
	Takeovers       int64    `json:"takeovers"`
	Escalations     int64    `json:"escalations"`
	Expiries        int64    `json:"expiries"`
	Partial         bool     `json:"partial"` // more tasks changed than are counted
}

func NewStats(t *remote.Target) *cobra.Command {
	var period string
	cmd := remote.Ask(t, "tasks WORKSPACE", "How work goes in a workspace", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{
			Method: http.MethodGet, Path: "/v1/stats/tasks", Query: url.Values{"workspace_id": {args[0]}, "period": {period}},
		}, nil
	}, showTaskStats)
	cmd.Flags().StringVar(&period, "period", "all", "day, week, month or all")
	return cmd
}

func showTaskStats(cmd *cobra.Command, s taskStats) error {
	const none = "no task was done"
	if s.Partial {
		fmt.Fprintln(cmd.OutOrStdout(), "more than 10,000 tasks: of the 10,000 that changed last")
	}
	return terminal.Table(cmd.OutOrStdout(), [][]string{
		{"made", fmt.Sprint(s.Created)},
		{"done", fmt.Sprint(s.Done)},
		{"cancelled", fmt.Sprint(s.Cancelled)},
		{"from made to done", terminal.Seconds(s.LeadTime, "%s on average", none)},
		{"", terminal.Seconds(s.LeadTimeMedian, "%s in the middle", none)},
		{"from begun to done", terminal.Seconds(s.CycleTime, "%s on average", none)},
		{"", terminal.Seconds(s.CycleTimeMedian, "%s in the middle", none)},
		{"taken over", fmt.Sprint(s.Takeovers)},
		{"escalated", fmt.Sprint(s.Escalations)},
		{"deadlines passed", fmt.Sprint(s.Expiries)},
	})
}
