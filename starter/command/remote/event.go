package remote

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/terminal"
)

// ShowEvents writes a history as a table.
func ShowEvents(cmd *cobra.Command, events []shape.History) error {
	rows := [][]string{{"NO", "WHEN", "WHAT", "FROM", "TO", "WHO", "COMMENT"}}
	for _, e := range events {
		rows = append(rows, []string{
			strconv.FormatInt(e.Seq, 10), terminal.When(e.CreatedAt), e.Type, e.From, e.To,
			cmp.Or(shape.Value(e.ActorID), "system"), e.Comment,
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
