// Package command is Stagecoach's command line: the root of all commands, its exit codes and its error texts.
//
// The commands themselves are in the packages below, one for each workload. Every command except doctor, migrate,
// reseal, restored, version and the backup commands is an ordinary client of the API.
package command

import (
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/fault"
	"stagecoach/starter/command/account"
	"stagecoach/starter/command/delivery"
	"stagecoach/starter/command/download"
	"stagecoach/starter/command/operate"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/command/task"
	"stagecoach/starter/command/transaction"
	"stagecoach/starter/terminal"
)

// Run runs one command line, whose first word is the name of the program, and returns the exit code: 0 done, 1 refused
// or failed, 2 wrong usage, 3 not reachable.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(strings.TrimSuffix(filepath.Base(args[0]), ".exe")) // completion scripts are for this name
	root.SetOut(stdout)                                                 // before addCompletion: its commands keep this output
	addCompletion(root)
	addHelp(root)

	return Execute(ctx, root, args[1:], stdout, stderr)
}

// ofParser matches what Go's parsers say about a flag's value, in terms of the language.
var ofParser = regexp.MustCompile(`(?:strconv\.\w+: parsing ".*": .*|time: .*)$`)

// Execute runs one command line of a program, explains an error to stderr, and returns the exit code as Run does.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text := ofParser.ReplaceAllString(err.Error(), "invalid value")
		if strings.HasPrefix(text, "unknown ") && strings.Contains(cmd.Use, " ") { // it may be a title, or a file name
			text += "; put an argument that begins with - after --"
		}
		return terminal.UsageError(text)
	})
	if len(args) > 0 && args[0] == "--" { // left over from a script runner: it ends no flags of a command
		args = args[1:]
	}
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
	root := terminal.Group(&cobra.Command{Use: name, Short: "Use and operate Stagecoach", Version: app.Version}, remote.Calling(
		delivery.New(), delivery.NewFiles(),
		task.New(), task.NewWorkspace(),
		download.New(), download.NewBook(),
		transaction.New(),
		account.NewUser(), account.NewToken(), account.NewAgent(), account.NewWebhook(), account.NewWeb(),
		terminal.Group(
			&cobra.Command{Use: "stats", Short: "Show statistics of the workloads"}, task.NewStats(), transaction.NewStats(),
		),
		operate.NewStatus(), operate.NewFindings(),
	)...)

	root.AddCommand(operate.NewDoctor(), operate.NewMigrate(), operate.NewRestored(), operate.NewReseal())
	root.AddCommand(operate.NewBackupKey(), operate.NewBackup(), operate.NewRestore(), operate.NewVersion())
	root.SetVersionTemplate(app.ThisBuild().String() + "\n")
	return root
}

// nextSteps advise what to do about a refusal with a code.
var nextSteps = []map[fault.Code]string{
	commonSteps, delivery.NextSteps, task.NextSteps, download.NextSteps, transaction.NextSteps,
}

// addHelp adds cobra's help command, but makes an unknown command name an error.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // cannot happen: it was added above
	}
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = cmd.ValidateArgs(rest)
		}
		if err != nil {
			return err
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// addCompletion adds cobra's command that prints completion scripts, with our rules for arguments.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cannot happen: it was added above
	}

	terminal.Group(completion)
	for _, shell := range completion.Commands() {
		shell.Args = terminal.AsUsed
	}
}
