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

// newStatusAction is a command that sets a task's status.
func newStatusAction(name, short string, to lifecycle.TaskState) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/status", Text: "comment", Fixed: map[string]any{"to": to}, Show: showTask,
	}.Command()
}

// lease is how long the claimant of a task may be silent.
var lease = remote.Field{
	Flag: "lease", Name: "lease_seconds", Value: time.Duration(0),
	About: "lease, from 1m to 24h, that heartbeats renew (default: no lease)",
}

// newClaim is a command that claims a task, with a lease if requested.
func newClaim(name, short string) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/" + name, Text: "comment", Fields: []remote.Field{lease}, Show: showTask,
	}.Command()
}

func newHeartbeat() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "heartbeat ID", Short: "Renew the lease of a task, counted from now",
		Call: "POST /v1/tasks/{}/heartbeat",
		Fields: []remote.Field{{
			Flag: "fencing-token", Value: int64(0),
			About: "fencing token of your claim (default: your current claim)",
		}},
		Show: showTask,
	}.Command()
}

func newStatus() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "status ID STATUS COMMENT…", Short: "Move a task to another status", Keyed: true,
		Call: "POST /v1/tasks/{}/status",
		Body: func(args []string) (any, error) {
			to := lifecycle.TaskState(strings.ToUpper(args[1]))
			if !slices.Contains(lifecycle.TaskStates, to) {
				return nil, terminal.UsageError(
					"unknown status " + args[1] + ": use NEW, IN_PROGRESS, BLOCKED, STUCK, DONE or CANCELLED",
				)
			}
			return map[string]any{"to": to, "comment": strings.Join(args[2:], " ")}, nil
		},
		Show: showTask,
	}.Command()
}
