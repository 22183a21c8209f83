package task

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// newStatusAction is a command that gives a task a status.
func newStatusAction(name, short string, to lifecycle.TaskState) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/status", Text: "comment", Fixed: map[string]any{"to": to}, Show: showTask,
	}.Command()
}

// lease is how long the one who takes a task may be silent.
var lease = remote.Field{
	Flag: "lease", Name: "lease_seconds", Value: time.Duration(0),
	About: "how long you may be silent, from 1m to 24h: then send heartbeats (default: for ever)",
}

// newClaim is a command that takes a task, for a lease when one is asked for.
func newClaim(name, short string) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/" + name, Text: "comment", Fields: []remote.Field{lease}, Show: showTask,
	}.Command()
}

func newHeartbeat() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "heartbeat ID", Short: "Hold a task for another lease, counted from now",
		Call: "POST /v1/tasks/{}/heartbeat",
		Fields: []remote.Field{{
			Flag: "fencing-token", Value: int64(0),
			About: "the fencing token of your claim (default: whatever claim you have)",
		}},
		Show: showTask,
	}.Command()
}

func newStatus() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "status ID STATUS COMMENT…", Short: "Give a task one of the statuses that it may have next", Keyed: true,
		Call: "POST /v1/tasks/{}/status",
		Body: func(args []string) (any, error) {
			to := lifecycle.TaskState(strings.ToUpper(args[1]))
			if !slices.Contains(lifecycle.TaskStates, to) {
				return nil, terminal.UsageError(
					"no status " + args[1] + ": give NEW, IN_PROGRESS, BLOCKED, STUCK, DONE or CANCELLED",
				)
			}
			return map[string]any{"to": to, "comment": strings.Join(args[2:], " ")}, nil
		},
		Show: showTask,
	}.Command()
}

func newComment() *cobra.Command {
	return remote.Ask[shape.History]{
		Use: "comment ID COMMENT…", Short: "Comment on a task", Keyed: true,
		Call: "POST /v1/tasks/{}/comments", Text: "comment", Show: remote.One(remote.ShowEvents),
	}.Command()
}
