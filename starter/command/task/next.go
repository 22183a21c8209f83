package task

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
)

// newNext is a command that takes whatever task is next.
func newNext() *cobra.Command {
	return remote.Ask[shape.NextTask]{
		Use: "next COMMENT…", Short: "Claim the best task that is ready, and wait for one while there is none", Keyed: true,
		Long: `Claim the most urgent task that is ready, and of these the oldest. Of all who ask, one gets it.

A task has all labels that you give. The priority is the least urgent one: high means high or critical.`,
		Example: "  starter task next --label docs --wait 50s --lease 5m my turn",
		Call:    "POST /v1/tasks/claim",
		Text:    "comment",
		Fields: []remote.Field{
			{Flag: "workspace", Name: "workspace_id", About: "id of the workspace (default: all that you are a member of)"},
			{
				Flag: "label", Name: "labels", Value: []string(nil),
				About: "labels that the task has, all of them, with commas",
			},
			{Flag: "priority", About: "low, normal, high or critical, or more urgent (default: any)"},
			{
				Flag: "wait", Name: "wait_seconds", Value: time.Duration(0),
				About: "how long to wait while no task is ready, 50s at most (default: not at all)",
			},
			lease,
		},
		Waits: "wait",
		Show: func(cmd *cobra.Command, next shape.NextTask) error {
			if next.Task == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "no task is ready")
				return nil
			}
			return showTask(cmd, *next.Task)
		},
	}.Command()
}
