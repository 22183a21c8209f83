package operate

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func findingRow(f shape.Finding) []string {
	return []string{
		terminal.When(f.FoundAt), f.Workload, terminal.Shorten(f.EntityID, 16), f.Finding,
		cmp.Or(shape.Value(f.Done), "nothing yet"),
	}
}

// NewFindings makes the command that lists what the reconciler found.
func NewFindings() *cobra.Command {
	return remote.List[shape.Finding]{
		Admin: true, Use: "findings",
		Short: "List the differences that the reconciler found, the newest first (administrators only)",
		Path:  "/v1/findings",
		Filters: []remote.Filter{
			{Flag: "workload", About: "only those of one workload: " + strings.Join(lifecycle.Names(), ", ")},
			{Flag: "since", About: "only those found at or after this time, such as 2026-03-01T12:00:00Z"},
		},
		Show: remote.Rows(findingRow, "WHEN", "WORKLOAD", "ENTITY", "FINDING", "DONE"),
	}.Command()
}
