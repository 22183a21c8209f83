package task

import (
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newList(t *remote.Target) *cobra.Command {
	var workspace, status, assignee string
	cmd := remote.List[shape.Task]{
		As: t.AsUser, Use: "list", Short: "List the tasks that you may see, the newest first", Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/tasks", map[string]string{
				"workspace_id": workspace, "status": strings.ToUpper(status), "assignee": assignee,
			}
		},
		Show: showTasks,
	}.Command()

	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status, such as NEW or STUCK")
	cmd.Flags().StringVar(&assignee, "assignee", "", "only those of the user with this id, or me")
	return cmd
}

func newReady(t *remote.Target) *cobra.Command {
	var workspace string
	cmd := remote.List[shape.Task]{
		As: t.AsUser, Use: "ready", Short: "List the tasks that can be claimed now", Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			return "/v1/tasks", map[string]string{"ready": "true", "workspace_id": workspace}
		},
		Show: showTasks,
	}.Command()

	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	return cmd
}

func newShow(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Task]{
		As: t.AsUser, Use: "show ID", Short: "Show one task", Args: terminal.Exactly(1),
		Call: remote.Get(Path),
		Show: showTask,
	}.Command()
}

func newEvents(t *remote.Target) *cobra.Command {
	return remote.List[shape.History]{
		As: t.AsUser, Use: "events ID", Short: "Show the history of a task, from the beginning", Args: terminal.Exactly(1),
		Query: func(args []string) (string, map[string]string) { return Path(args[0]) + "/events", nil },
		Show:  remote.ShowEvents,
	}.Command()
}
