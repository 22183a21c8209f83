package remote

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/starter/terminal"
)

// Event is an entry of the history of a task, a download or a transaction.
type Event struct {
	Seq       int64     `json:"seq"`
	Type      string    `json:"type"`
	ActorID   string    `json:"actor_id"` // empty: the system
	From      string    `json:"from"`
	To        string    `json:"to"`
	Comment   string    `json:"comment"`
	CreatedAt time.Time `json:"created_at"`
}

// ShowEvents writes a history as a table.
func ShowEvents(cmd *cobra.Command, events []Event) error {
	rows := [][]string{{"NO", "WHEN", "WHAT", "FROM", "TO", "WHO", "COMMENT"}}
	for _, e := range events {
		rows = append(rows, []string{
			strconv.FormatInt(e.Seq, 10), terminal.When(e.CreatedAt), e.Type, e.From, e.To,
			cmp.Or(e.ActorID, "system"), e.Comment,
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
