package operate

import (
	"cmp"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func findingRow(f shape.Finding) []string {
	return []string{
		terminal.When(f.FoundAt), f.Workload, terminal.Shorten(f.EntityID, 16), f.Finding, cmp.Or(shape.Value(f.Done), "nothing yet"),
	}
}

// NewFindings makes the command that lists what the reconciler found.
func NewFindings() *cobra.Command {
	var t remote.Target
	var workload, since string
	cmd := remote.List[shape.Finding]{
		As: t.AsAdmin, Use: "findings", Args: terminal.Exactly(0),
		Short: "List the differences that the reconciler found, the newest first (administrators only)",
		Query: func([]string) (string, map[string]string) {
			return "/v1/findings", map[string]string{"workload": workload, "since": since}
		},
		Show: func(cmd *cobra.Command, findings []shape.Finding) error {
			rows := [][]string{{"WHEN", "WORKLOAD", "ENTITY", "FINDING", "DONE"}}
			for _, f := range findings {
				rows = append(rows, findingRow(f))
			}
			return terminal.Table(cmd.OutOrStdout(), rows)
		},
	}.Command()

	t.AddFlags(cmd)
	cmd.Flags().StringVar(&workload, "workload", "", "only those of delivery, task, download or transaction")
	cmd.Flags().StringVar(&since, "since", "", "only those found at or after this time, such as 2026-03-01T12:00:00Z")
	return cmd
}
