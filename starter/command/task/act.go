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

// newAction is a command that takes an action on a task. to is the next status, for the action status alone.
func newAction(name, short, action string, to lifecycle.TaskState) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/" + action,
		Body: func(args []string) (any, error) { return Comment(to, args[1:]), nil },
		Show: showTask,
	}.Command()
}

// newClaim is a command that takes a task, for a lease when one is asked for.
func newClaim(name, short string) *cobra.Command {
	var lease time.Duration
	cmd := remote.Ask[shape.Task]{
		Use: name + " ID COMMENT…", Short: short, Keyed: true,
		Call: "POST /v1/tasks/{}/" + name,
		Body: func(args []string) (any, error) {
			body := map[string]any{"comment": strings.Join(args[1:], " ")}
			if lease != 0 {
				body["lease_seconds"] = int64(lease / time.Second)
			}
			return body, nil
		},
		Show: showTask,
	}.Command()

	cmd.Flags().DurationVar(
		&lease, "lease", 0, "how long you may be silent, from 1m to 24h: then send heartbeats (default: for ever)",
	)
	return cmd
}

func newHeartbeat() *cobra.Command {
	var token int64
	cmd := remote.Ask[shape.Task]{
		Use: "heartbeat ID", Short: "Hold a task for another lease, counted from now",
		Call: "POST /v1/tasks/{}/heartbeat",
		Body: func([]string) (any, error) {
			body := map[string]any{}
			if token != 0 {
				body["fencing_token"] = token
			}
			return body, nil
		},
		Show: showTask,
	}.Command()

	cmd.Flags().Int64Var(&token, "fencing-token", 0, "the fencing token of your claim (default: whatever claim you have)")
	return cmd
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
			return Comment(to, args[2:]), nil
		},
		Show: showTask,
	}.Command()
}

func newComment() *cobra.Command {
	return remote.Ask[shape.History]{
		Use: "comment ID COMMENT…", Short: "Comment on a task", Keyed: true,
		Call: "POST /v1/tasks/{}/comments",
		Body: func(args []string) (any, error) { return Comment("", args[1:]), nil },
		Show: func(cmd *cobra.Command, e shape.History) error { return remote.ShowEvents(cmd, []shape.History{e}) },
	}.Command()
}

// Comment is the body of an action on a task: the words of a comment and, unless it is empty, the next status.
func Comment(to lifecycle.TaskState, words []string) map[string]string {
	body := map[string]string{"comment": strings.Join(words, " ")}
	if to != "" {
		body["to"] = string(to)
	}
	return body
}
