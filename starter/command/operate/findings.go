package operate

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// finding is a difference between the record and Temporal.
type finding struct {
	FoundAt    time.Time `json:"found_at"`
	Workload   string    `json:"workload"`
	EntityID   string    `json:"entity_id"`
	WorkflowID string    `json:"workflow_id"`
	Finding    string    `json:"finding"`
	Done       string    `json:"done"` // empty: nothing yet
}

func (f finding) row() []string {
	return []string{
		terminal.When(f.FoundAt), f.Workload, terminal.Shorten(f.EntityID, 16), f.Finding, cmp.Or(f.Done, "nothing yet"),
	}
}

// NewFindings makes the command that lists what the reconciler found.
func NewFindings() *cobra.Command {
	var t remote.Target
	var workload, since string
	cmd := remote.List[finding]{
		As: t.AsAdmin, Use: "findings", Args: terminal.Exactly(0),
		Short: "List the differences that the reconciler found, the newest first (administrators only)",
		Query: func([]string) (string, map[string]string) {
			return "/v1/findings", map[string]string{"workload": workload, "since": since}
		},
		Show: func(cmd *cobra.Command, findings []finding) error {
			rows := [][]string{{"WHEN", "WORKLOAD", "ENTITY", "FINDING", "DONE"}}
			for _, f := range findings {
				rows = append(rows, f.row())
			}
			return terminal.Table(cmd.OutOrStdout(), rows)
		},
	}.Command()

	t.AddFlags(cmd)
	cmd.Flags().StringVar(&workload, "workload", "", "only those of delivery, task, download or transaction")
	cmd.Flags().StringVar(&since, "since", "", "only those found at or after this time, such as 2026-03-01T12:00:00Z")
	return cmd
}
