package task

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStats makes the command about the statistics of a workspace.
func NewStats(t *remote.Target) *cobra.Command {
	var period string
	cmd := remote.Ask[shape.TaskStats]{
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

func showStats(cmd *cobra.Command, s shape.TaskStats) error {
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
