package task

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// newAction is a command that takes an action on a task. to is the next status, for the action status alone.
func newAction(t *remote.Target, name, short, action string, to lifecycle.TaskState) *cobra.Command {
	return remote.Ask[shape.Task]{
		As: t.AsUser, Use: name + " ID COMMENT…", Short: short, Args: terminal.AtLeast(1), Keyed: true,
		Call: func(args []string) (client.Call, error) { return ActOn(args[0], action, to, args[1:]), nil },
		Show: showTask,
	}.Command()
}

func newStatus(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Task]{
		As: t.AsUser, Use: "status ID STATUS COMMENT…", Short: "Give a task one of the statuses that it may have next",
		Args: terminal.AtLeast(2), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			to := lifecycle.TaskState(strings.ToUpper(args[1]))
			if !slices.Contains(lifecycle.TaskStates, to) {
				return client.Call{}, terminal.UsageError(
					"no status " + args[1] + ": give NEW, IN_PROGRESS, BLOCKED, STUCK, DONE or CANCELLED",
				)
			}
			return ActOn(args[0], "status", to, args[2:]), nil
		},
		Show: showTask,
	}.Command()
}

func newComment(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.History]{
		As: t.AsUser, Use: "comment ID COMMENT…", Short: "Comment on a task", Args: terminal.AtLeast(1), Keyed: true,
		Call: func(args []string) (client.Call, error) { return ActOn(args[0], "comments", "", args[1:]), nil },
		Show: func(cmd *cobra.Command, e shape.History) error { return remote.ShowEvents(cmd, []shape.History{e}) },
	}.Command()
}

// ActOn is the call that takes an action on a task, with the words of a comment. to is the next status; empty: none.
func ActOn(id, action string, to lifecycle.TaskState, comment []string) client.Call {
	body := map[string]string{"comment": strings.Join(comment, " ")}
	if to != "" {
		body["to"] = string(to)
	}
	return client.Call{Method: http.MethodPost, Path: Path(id) + "/" + action, Body: body}
}
