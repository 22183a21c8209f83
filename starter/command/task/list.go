package task

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func atTasks([]string) string { return "/v1/tasks" }

func newTaskList(t *remote.Target) *cobra.Command {
	var workspace, status, assignee string
	cmd := remote.List(t, "list", "List the tasks that you may see, the newest first", terminal.Between(0, 0), atTasks, func() map[string]string {
		return map[string]string{"workspace_id": workspace, "status": strings.ToUpper(status), "assignee": assignee}
	}, showTasks)
	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status, such as NEW or STUCK")
	cmd.Flags().StringVar(&assignee, "assignee", "", "only those of the user with this id, or me")
	return cmd
}

func newTaskReady(t *remote.Target) *cobra.Command {
	var workspace string
	cmd := remote.List(t, "ready", "List the tasks that can be claimed now", terminal.Between(0, 0), atTasks, func() map[string]string {
		return map[string]string{"ready": "true", "workspace_id": workspace}
	}, showTasks)
	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	return cmd
}

func newTaskShow(t *remote.Target) *cobra.Command {
	return remote.Ask(t, "show ID", "Show one task", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: Path(args[0])}, nil
	}, showTask)
}

func newTaskEvents(t *remote.Target) *cobra.Command {
	return remote.List(t, "events ID", "Show what happened to a task, from the beginning", terminal.Between(1, 1),
		func(args []string) string { return Path(args[0]) + "/events" }, func() map[string]string { return nil }, remote.ShowEvents)
}
