package remote

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/terminal"
)

// Rows shows a list as a table with these headings.
func Rows[T any](row func(T) []string, headings ...string) func(*cobra.Command, []T) error {
	return func(cmd *cobra.Command, items []T) error {
		return terminal.Table(cmd.OutOrStdout(), terminal.Rows(items, row, headings...))
	}
}

// One shows a single item as a list of one.
func One[T any](show func(*cobra.Command, []T) error) func(*cobra.Command, T) error {
	return func(cmd *cobra.Command, item T) error { return show(cmd, []T{item}) }
}

// ShowEvents shows a history as a table.
var ShowEvents = Rows(func(e shape.History) []string {
	return []string{
		strconv.FormatInt(e.Seq, 10), terminal.When(e.CreatedAt), e.Type, e.From, e.To,
		cmp.Or(shape.Value(e.ActorID), "system"), e.Comment,
	}
}, "NO", "WHEN", "WHAT", "FROM", "TO", "WHO", "COMMENT")
