package task

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
)

// newNext is a command that claims the next task.
func newNext() *cobra.Command {
	return remote.Ask[shape.NextTask]{
		Use: "next COMMENT…", Short: "Claim the most urgent ready task, or wait for one", Keyed: true,
		Long: `Claim the most urgent ready task, the oldest first. Only one caller gets each task.

The task has all the labels that you give. --priority is the minimum: high means high or critical.`,
		Example: "  starter task next --label docs --wait 50s --lease 5m my turn",
		Call:    "POST /v1/tasks/claim",
		Text:    "comment",
		Fields: []remote.Field{
			{Flag: "workspace", Name: "workspace_id", About: "id of the workspace (default: all your workspaces)"},
			{
				Flag: "label", Name: "labels", Value: remote.Texts(nil),
				About: "a label that the task must have; repeatable: it must have all of them",
			},
			{Flag: "priority", About: "minimum priority: low, normal, high or critical (default: any)"},
			{
				Flag: "wait", Name: "wait_seconds", Value: time.Duration(0),
				About: "how long to wait for a ready task, at most 50s (default: do not wait)",
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
