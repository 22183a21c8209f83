package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
)

// newNext is a command that takes whatever task is next.
func newNext() *cobra.Command {
	var workspace, priority string
	var labels []string
	var wait, lease time.Duration
	cmd := remote.Ask[shape.NextTask]{
		Use: "next COMMENT…", Short: "Claim the best task that is ready, and wait for one while there is none", Keyed: true,
		Long: `Claim the most urgent task that is ready, and of these the oldest. Of all who ask, one gets it.

A task has all labels that you give. The priority is the least urgent one: high means high or critical.`,
		Example: "  starter task next --label docs --wait 50s --lease 5m my turn",
		Call:    "POST /v1/tasks/claim",
		Body: func(args []string) (any, error) {
			body := map[string]any{"comment": strings.Join(args, " ")}
			for name, value := range map[string]string{"workspace_id": workspace, "priority": priority} {
				if value != "" {
					body[name] = value
				}
			}

			for name, value := range map[string]time.Duration{"wait_seconds": wait, "lease_seconds": lease} {
				if value != 0 {
					body[name] = int64(value / time.Second)
				}
			}

			if len(labels) > 0 {
				body["labels"] = labels
			}
			return body, nil
		},
		Waits: &wait,
		Show: func(cmd *cobra.Command, next shape.NextTask) error {
			if next.Task == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "no task is ready")
				return nil
			}
			return showTask(cmd, *next.Task)
		},
	}.Command()

	flags := cmd.Flags()
	flags.StringVar(&workspace, "workspace", "", "id of the workspace (default: all that you are a member of)")
	flags.StringSliceVar(&labels, "label", nil, "labels that the task has, all of them, with commas")
	flags.StringVar(&priority, "priority", "", "low, normal, high or critical, or more urgent (default: any)")
	flags.DurationVar(&wait, "wait", 0, "how long to wait while no task is ready, 50s at most (default: not at all)")
	flags.DurationVar(
		&lease, "lease", 0, "how long you may be silent, from 1m to 24h: then send heartbeats (default: for ever)",
	)
	return cmd
}
