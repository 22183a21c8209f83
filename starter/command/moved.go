package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

// errMoved is the error of a command that has moved to another program.
type errMoved struct{ old, now string }

func (e errMoved) Error() string { return fmt.Sprintf("%s has moved: %s", e.old, e.now) }

// newMoved is a command of release 0.1.0 that only names its successor.
func newMoved(name, now string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return errMoved{cmd.CommandPath(), now} },
	}
}
