package task

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// words lets a command take at least so many arguments: the last ones are a comment, of as many words as it has.
func words(least int) cobra.PositionalArgs { return terminal.Between(least, math.MaxInt) }

// taskAction is a command that does something to a task, for the reason that follows the ID. to is for the action
// status.
func taskAction(t *remote.Target, name, short, action string, to lifecycle.TaskState) *cobra.Command {
	var key string
	cmd := remote.Ask(t, name+" ID COMMENT…", short, words(1), func(args []string) (client.Call, error) {
		return ActOn(args[0], action, to, args[1:], key), nil
	}, showTask)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func newTaskStatus(t *remote.Target) *cobra.Command {
	var key string
	cmd := remote.Ask(t, "status ID STATUS COMMENT…", "Give a task any status that it may have next", words(2), func(args []string) (client.Call, error) {
		to := lifecycle.TaskState(strings.ToUpper(args[1]))
		if !slices.Contains(lifecycle.TaskStates, to) {
			return client.Call{}, terminal.UsageError(
				"there is no status " + args[1] + ": the statuses are NEW, IN_PROGRESS, BLOCKED, STUCK, DONE, CANCELLED",
			)
		}
		return ActOn(args[0], "status", to, args[2:], key), nil
	}, showTask)

	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func newTaskComment(t *remote.Target) *cobra.Command {
	var key string
	cmd := remote.Ask(t, "comment ID COMMENT…", "Say something about a task", words(1), func(args []string) (client.Call, error) {
		return ActOn(args[0], "comments", "", args[1:], key), nil
	}, func(cmd *cobra.Command, e remote.Event) error { return remote.ShowEvents(cmd, []remote.Event{e}) })
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func ActOn(id, action string, to lifecycle.TaskState, comment []string, key string) client.Call {
	body := map[string]string{"comment": strings.Join(comment, " ")}
	if to != "" {
		body["to"] = string(to)
	}
	return client.Call{Method: http.MethodPost, Path: Path(id) + "/" + action, Body: body, IdempotencyKey: key}
}
