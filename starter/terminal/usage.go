package terminal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// UsageError is the error of an invalid command line.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Group makes a command that only contains others. An unknown name is an error; cobra by itself would print the help.
func Group(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(members...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if cmd.ArgsLenAtDash() == 0 {
			return UsageError(cmd.CommandPath() + ": -- before the command name: remove it, or put it after the name")
		}
		text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return UsageError(text)
	}

	cmd.SuggestionsMinimumDistance = 2
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// TakeText makes everything after the first argument part of a command's text, including what looks like a flag: flags
// go before the first argument.
func TakeText(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false)
	name, arguments, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = name + " [flags] " + arguments
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nFlags go before " + strings.Trim(strings.Fields(arguments)[0], "[…]") +
		": everything after it is taken literally."
}

// Arguments returns a command's arguments, without a -- at or before the start of its text: it may be there for words
// that look like flags.
func Arguments(cmd *cobra.Command, args []string) []string {
	named := 0
	for _, word := range strings.Fields(cmd.Use)[2:] {
		if strings.Contains(word, "…") {
			break
		}
		named++
	}

	i := slices.Index(args, "--")
	if i < 0 || i > named || cmd.ArgsLenAtDash() >= 0 { // it has already ended the flags
		return args
	}
	return slices.Delete(slices.Clone(args), i, i+1)
}

// AsUsed accepts the arguments in a command's usage line. One in brackets is optional, and one with an ellipsis is a
// text of any number of words.
func AsUsed(cmd *cobra.Command, args []string) error {
	least, most := 0, 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case word == "[flags]":
			args = Arguments(cmd, args)
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
