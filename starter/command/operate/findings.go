package operate

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// finding is an incident in which the record and Temporal differed.
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

func NewFindings() *cobra.Command {
	var t remote.Target
	var workload, since string
	cmd := remote.ListAs(t.AsAdmin, "findings", "List what the reconciler found to differ, the newest first (for administrators)", terminal.Between(0, 0),
		func([]string) string { return "/v1/findings" },
		func() map[string]string { return map[string]string{"workload": workload, "since": since} },
		func(cmd *cobra.Command, findings []finding) error {
			rows := [][]string{{"WHEN", "WORKLOAD", "ENTITY", "FINDING", "DONE"}}
			for _, f := range findings {
				rows = append(rows, f.row())
			}
			return terminal.Table(cmd.OutOrStdout(), rows)
		})

	t.AddFlags(cmd)
	cmd.Flags().StringVar(&workload, "workload", "", "only those of delivery, task, download or transaction")
	cmd.Flags().StringVar(&since, "since", "", "only those found at or after this time, such as 2026-03-01T12:00:00Z")
	return cmd
}
