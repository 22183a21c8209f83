package task

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStats makes the command about the statistics of a workspace.
func NewStats() *cobra.Command {
	return remote.Ask[shape.TaskStats]{
		Use: "tasks WORKSPACE", Short: "Show the statistics of a workspace's tasks",
		Call:    "GET /v1/stats/tasks",
		Query:   func(args []string) url.Values { return url.Values{"workspace_id": {args[0]}} },
		Filters: []remote.Filter{{Flag: "period", Value: "all", About: "period: day, week, month or all"}},
		Show:    showStats,
	}.Command()
}

func showStats(cmd *cobra.Command, s shape.TaskStats) error {
	const none = "no task was done"
	if s.Partial {
		fmt.Fprintln(cmd.OutOrStdout(), "more than 10,000 tasks changed: the figures cover the last 10,000")
	}
	return terminal.Table(cmd.OutOrStdout(), [][]string{
		{"created", fmt.Sprint(s.Created)},
		{"done", fmt.Sprint(s.Done)},
		{"cancelled", fmt.Sprint(s.Cancelled)},
		{"from created to done", terminal.Seconds(s.LeadTime, "%s on average", none)},
		{"", terminal.Seconds(s.LeadTimeMedian, "%s median", none)},
		{"from started to done", terminal.Seconds(s.CycleTime, "%s on average", none)},
		{"", terminal.Seconds(s.CycleTimeMedian, "%s median", none)},
		{"taken over", fmt.Sprint(s.Takeovers)},
		{"escalated", fmt.Sprint(s.Escalations)},
		{"deadlines passed", fmt.Sprint(s.Expiries)},
	})
}
