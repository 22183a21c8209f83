// Package command is Stagecoach's command line.
//
// Every command but migrate, reseal and restored is an ordinary client of the API. A group of commands is one file.
package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"stagecoach/starter/terminal"
)

// Run runs one command line and gives the exit code: 0 done, 1 refused or failed, 2 usage, 3 not reachable.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return Execute(ctx, newRoot(), args, stdout, stderr)
}

// Execute runs one line of a program's commands, tells people what went wrong, and gives the exit code as Run does.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return terminal.UsageError(err.Error()) })
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		explain(stderr, cmd, err)
	}
	return exitCode(err)
}

func newRoot() *cobra.Command {
	root := terminal.Group(&cobra.Command{
		Use:   "starter",
		Short: "Stagecoach on the command line",
	},
		newDeliver(), newFiles(), newTask(), newWorkspace(), newBook(), newDownload(), newTx(), newStats(), newStatus(), newFindings(), newUser(), newToken(), newMigrate(), newRestored(), newReseal(),
		newMoved("dev", "go run ./dev"), newMoved("standin", "go run ./dev standin"))
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
