package terminal

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// UsageError is a command line that makes no sense.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Group makes a command that only holds others. A word that is none of them is an error, which cobra leaves to those
// commands that can run.
func Group(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(members...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += ": do you mean " + strings.Join(near, " or ") + "?"
		}
		return UsageError(text)
	}

	cmd.SuggestionsMinimumDistance = 2
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// Between lets a command take at least and at most so many arguments.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return UsageError("wrong number of arguments: " + cmd.UseLine())
		}
		return nil
	}
}
