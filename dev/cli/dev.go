// Package cli is the command line for development: it runs everything on this machine, or a single simulator.
package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/demo"
	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/internal/devinfo"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command"
	"stagecoach/starter/terminal"
)

// devOptions are the flags of dev.
type devOptions struct {
	state   string
	once    bool
	noDemo  bool
	quiet   bool
	cluster bool
}

// Run runs one command line and returns the exit code, as starter's does.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return command.Execute(ctx, newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: PostgreSQL, Temporal, qBittorrent, simulators, worker, API, bot",
		Long: `Run everything on this machine until Ctrl-C, and show each workload at work.

The state folder keeps it all: stop and start as you like, unfinished work goes on. Busy ports
are replaced by free ones; addresses and tokens stand in dev.json there. Every STAGECOACH_…
of the environment goes before dev's own value of a setting, so that it can be tried, and
DATABASE_URL names a PostgreSQL of yours.

With --cluster everything runs as in a large installation: Temporal's four services on
PostgreSQL, three workers, two APIs and a worker for payments, each a process of its own.
What tells them apart stays: their queues, the bot, who has the wallet's key. Its state has a
folder of its own.`,
		Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDev(cmd, o) },
	}

	cmd.Flags().StringVar(
		&o.state, "state", devinfo.DefaultState, "the folder that keeps everything; of a cluster: "+devinfo.DefaultState+"/cluster",
	)
	cmd.Flags().BoolVar(&o.once, "once", false, "stop after the demo; exit code 0 only if all of it ended as expected")
	cmd.Flags().BoolVar(&o.noDemo, "no-demo", false, "only start")
	cmd.Flags().BoolVar(&o.quiet, "quiet", false, "leave nothing going on after the demo")
	cmd.Flags().BoolVar(&o.cluster, "cluster", false, "run Temporal as a cluster, and several workers and APIs")
	cmd.AddCommand(newStandIn())
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

func runDev(cmd *cobra.Command, o devOptions) (err error) {
	asked, stopListening := terminal.UntilAsked(cmd.Context())
	defer stopListening()

	ctx, broken := context.WithCancelCause(asked) // its cause distinguishes a failure from a requested stop
	defer broken(nil)

	if o.cluster && !cmd.Flags().Changed("state") {
		o.state = filepath.Join(devinfo.DefaultState, "cluster") // a record belongs to one Temporal
	}

	state, err := filepath.Abs(o.state)
	if err != nil {
		return err
	}

	unlock, err := servers.LockFolder(state)
	if err != nil {
		return err
	}
	defer unlock()

	s := stack.New(state, terminal.NewScreen(cmd.OutOrStdout()), broken)
	s.Cluster = o.cluster
	// A dev.json means that the services are ready, so the one of the last run is removed.
	if err := os.Remove(filepath.Join(state, devinfo.File)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	began := time.Now()
	defer func() { err = errors.Join(err, s.Stop()) }()

	if err := s.Start(ctx); err != nil {
		return verdict(ctx, err)
	}

	greet(ctx, s, o, time.Since(began))
	if !o.noDemo {
		err = demo.Show(ctx, s, demo.Options{Once: o.once, Quiet: o.quiet})
	}

	if !o.once && err == nil {
		<-ctx.Done()
	}

	if !o.once && asked.Err() != nil {
		return nil // a requested stop is not an error
	}
	return verdict(ctx, err)
}

// verdict returns the reason behind an error when ctx has ended: a failure of a part, or nil for a requested stop.
func verdict(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case cause != nil && err != nil:
		return errors.New("interrupted")
	default:
		return err
	}
}

// greet prints the addresses of what is running.
func greet(ctx context.Context, s *stack.Stack, o devOptions, after time.Duration) {
	s.Screen.Say("\nStagecoach runs, %s after the start.\n", terminal.Took(after))
	rows := [][2]string{
		{"pages, as a user", signInLink(ctx, s.Info.API, s.Info.UserToken)},
		{"as administrator", signInLink(ctx, s.Info.API, s.Info.AdminToken)},
		{"as somebody new", s.Info.API + "/oidc"},
		{"Temporal Web UI", lifecycle.WorkflowsURL(s.Info.WebUI+"/namespaces/default/workflows", "")},
		{"API and its docs", s.Info.Docs},
		{"Telegram chat", s.ChatURL()},
		{"GRAM deposits", s.Info.StandIns.TonCenter + "/_/deposits"},
		{"qBittorrent", s.Info.StandIns.QBittorrent},
		{"library", s.Shown(s.Library)},
		{"for reading apps", s.Info.API + "/opds"},
		{"state", s.Shown(s.State)},
		{"logs", s.Shown(s.LogDir())},
		{"addresses, tokens", s.Shown(filepath.Join(s.State, devinfo.File))},
	}

	for _, row := range rows {
		s.Screen.Say("  %-18s %s", row[0], row[1])
	}

	s.Screen.Say("")
	if o.once {
		return
	}

	if !o.noDemo {
		s.Screen.Say("  Drop any file into %s: it is delivered to the chat.", s.Shown(s.DropFolder()))
	}

	s.Screen.Say("  The links to the pages sign in once, within five minutes; later, the tokens do.")
	s.Screen.Say("  Ctrl-C stops.\n")
}

// signInLink creates a link that signs the user of a token in on the pages. If that is impossible, it is the URL of the
// pages: the token signs in, too.
func signInLink(ctx context.Context, api, token string) string {
	made, err := client.Ask[shape.SignInLink](
		ctx, &client.Client{Base: api, Token: token}, client.Call{Method: http.MethodPost, Path: "/v1/sign-in-links"},
	)
	if err != nil {
		return api
	}
	return made.URL
}
