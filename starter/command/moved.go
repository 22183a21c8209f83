package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

// errMoved says that a command is elsewhere now.
type errMoved struct{ old, now string }

func (e errMoved) Error() string { return fmt.Sprintf("%s has moved: %s", e.old, e.now) }

// newMoved is a command of an older release, which only names the one that does its work now.
func newMoved(name, now string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return errMoved{cmd.CommandPath(), now} },
	}
}
