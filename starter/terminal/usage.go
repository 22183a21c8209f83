package terminal

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
)

// UsageError is the error of a command line that cannot be run.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Group makes a command that only holds others. A word that is none of their names is an error; cobra alone would print
// the help.
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

// AsUsed lets a command take the arguments that its line of usage names. One in brackets may be missing, and one with
// an ellipsis is a text of any number of words.
func AsUsed(cmd *cobra.Command, args []string) error {
	least, most := 0, 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case strings.Contains(word, "…"):
			most = math.MaxInt
		case strings.HasPrefix(word, "["):
			most++
		default:
			least, most = least+1, most+1
		}
	}

	if len(args) < least || len(args) > most {
		return UsageError("wrong number of arguments: " + cmd.UseLine())
	}
	return nil
}
