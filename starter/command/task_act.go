package command

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// words lets a command take at least so many arguments: the last ones are a comment, of as many words as it has.
func words(least int) cobra.PositionalArgs { return terminal.Between(least, math.MaxInt) }

// taskAction is a command that does something to a task, for the reason that follows the ID. to is for the action
// status.
func taskAction(t *target, name, short, action string, to lifecycle.TaskState) *cobra.Command {
	var key string
	cmd := asking(t, name+" ID COMMENT…", short, words(1), func(args []string) (client.Call, error) {
		return ActOn(args[0], action, to, args[1:], key), nil
	}, showTask)
	addKeyFlag(cmd, &key)
	return cmd
}

func newTaskStatus(t *target) *cobra.Command {
	var key string
	cmd := asking(t, "status ID STATUS COMMENT…", "Give a task any status that it may have next", words(2), func(args []string) (client.Call, error) {
		to := lifecycle.TaskState(strings.ToUpper(args[1]))
		if !slices.Contains(lifecycle.TaskStates, to) {
			return client.Call{}, terminal.UsageError(
				"there is no status " + args[1] + ": the statuses are NEW, IN_PROGRESS, BLOCKED, STUCK, DONE, CANCELLED",
			)
		}
		return ActOn(args[0], "status", to, args[2:], key), nil
	}, showTask)

	addKeyFlag(cmd, &key)
	return cmd
}

func newTaskComment(t *target) *cobra.Command {
	var key string
	cmd := asking(t, "comment ID COMMENT…", "Say something about a task", words(1), func(args []string) (client.Call, error) {
		return ActOn(args[0], "comments", "", args[1:], key), nil
	}, func(cmd *cobra.Command, e TaskEvent) error { return showTaskEvents(cmd, []TaskEvent{e}) })
	addKeyFlag(cmd, &key)
	return cmd
}

func ActOn(id, action string, to lifecycle.TaskState, comment []string, key string) client.Call {
	body := map[string]string{"comment": strings.Join(comment, " ")}
	if to != "" {
		body["to"] = string(to)
	}
	return client.Call{Method: http.MethodPost, Path: TaskPath(id) + "/" + action, Body: body, IdempotencyKey: key}
}
