// Package command is Stagecoach's command line.
//
// Every command but migrate, reseal and restored is an ordinary client of the API. A group of commands is one file.
package command

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/starter/terminal"
)

// Run runs one command line, whose first word is the program's name, and gives the exit code: 0 done, 1 refused or
// failed, 2 usage, 3 not reachable.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(programName(args[0]))
	root.SetOut(stdout) // before addCompletion, whose commands keep where they write
	addCompletion(root)

	return Execute(ctx, root, args[1:], stdout, stderr)
}

// programName is the name that a program was started by, as its user types it: completion is for that name.
func programName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".exe")
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

func newRoot(name string) *cobra.Command {
	root := terminal.Group(&cobra.Command{
		Use:   name,
		Short: "Stagecoach on the command line",
	},
		newDeliver(), newFiles(), newTask(), newWorkspace(), newBook(), newDownload(), newTx(), newStats(), newStatus(), newDoctor(), newFindings(), newUser(), newToken(), newMigrate(), newRestored(), newReseal(),
		newMoved("dev", "go run ./dev"), newMoved("standin", "go run ./dev standin"))
	return root
}

// addCompletion adds cobra's command that prints completion scripts, with our rules for arguments.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // a mistake of ours: cobra has just added it
	}

	terminal.Group(completion)
	for _, shell := range completion.Commands() {
		shell.Args = terminal.Between(0, 0)
	}
}
