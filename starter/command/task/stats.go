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

// taskStats are the statistics of a workspace, as the API shows them. Times are seconds; nil when no task was done.
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

// NewStats makes the command about the statistics of a workspace.
func NewStats(t *remote.Target) *cobra.Command {
	var period string
	cmd := remote.Ask[taskStats]{
		As: t.AsUser, Use: "tasks WORKSPACE", Short: "Show the statistics of a workspace's tasks", Args: terminal.Exactly(1),
		Call: func(args []string) (client.Call, error) {
			query := url.Values{"workspace_id": {args[0]}, "period": {period}}
			return client.Call{Method: http.MethodGet, Path: "/v1/stats/tasks", Query: query}, nil
		},
		Show: showStats,
	}.Command()
	cmd.Flags().StringVar(&period, "period", "all", "day, week, month or all")
	return cmd
}

func showStats(cmd *cobra.Command, s taskStats) error {
	const none = "no task was done"
	if s.Partial {
		fmt.Fprintln(cmd.OutOrStdout(), "more than 10,000 tasks changed: these are the figures of the last 10,000")
	}
	return terminal.Table(cmd.OutOrStdout(), [][]string{
		{"created", fmt.Sprint(s.Created)},
		{"done", fmt.Sprint(s.Done)},
		{"cancelled", fmt.Sprint(s.Cancelled)},
		{"from created to done", terminal.Seconds(s.LeadTime, "%s on average", none)},
		{"", terminal.Seconds(s.LeadTimeMedian, "%s, the median", none)},
		{"from started to done", terminal.Seconds(s.CycleTime, "%s on average", none)},
		{"", terminal.Seconds(s.CycleTimeMedian, "%s, the median", none)},
		{"taken over", fmt.Sprint(s.Takeovers)},
		{"escalated", fmt.Sprint(s.Escalations)},
		{"deadlines passed", fmt.Sprint(s.Expiries)},
	})
}
