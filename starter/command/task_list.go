package command

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/terminal"
)

// TaskEvent is something that happened to a task.
type TaskEvent struct {
	Seq       int64     `json:"seq"`
	Type      string    `json:"type"`
	ActorID   string    `json:"actor_id"` // empty: the system
	From      string    `json:"from"`
	To        string    `json:"to"`
	Comment   string    `json:"comment"`
	CreatedAt time.Time `json:"created_at"`
}

func atTasks([]string) string { return "/v1/tasks" }

func newTaskList(t *target) *cobra.Command {
	var workspace, status, assignee string
	cmd := listing(t, "list", "List the tasks that you may see, the newest first", terminal.Between(0, 0), atTasks, func() map[string]string {
		return map[string]string{"workspace_id": workspace, "status": strings.ToUpper(status), "assignee": assignee}
	}, showTasks)
	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status, such as NEW or STUCK")
	cmd.Flags().StringVar(&assignee, "assignee", "", "only those of the user with this id, or me")
	return cmd
}

func newTaskReady(t *target) *cobra.Command {
	var workspace string
	cmd := listing(t, "ready", "List the tasks that can be claimed now", terminal.Between(0, 0), atTasks, func() map[string]string {
		return map[string]string{"ready": "true", "workspace_id": workspace}
	}, showTasks)
	cmd.Flags().StringVar(&workspace, "workspace", "", "only those of the workspace with this id")
	return cmd
}

func newTaskShow(t *target) *cobra.Command {
	return asking(t, "show ID", "Show one task", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: TaskPath(args[0])}, nil
	}, showTask)
}

func newTaskEvents(t *target) *cobra.Command {
	return listing(t, "events ID", "Show what happened to a task, from the beginning", terminal.Between(1, 1),
		func(args []string) string { return TaskPath(args[0]) + "/events" }, func() map[string]string { return nil }, showTaskEvents)
}

func showTaskEvents(cmd *cobra.Command, events []TaskEvent) error {
	rows := [][]string{{"NO", "WHEN", "WHAT", "FROM", "TO", "WHO", "COMMENT"}}
	for _, e := range events {
		who := e.ActorID
		if who == "" {
			who = "system"
		}
		rows = append(
			rows, []string{strconv.FormatInt(e.Seq, 10), terminal.When(e.CreatedAt), e.Type, e.From, e.To, who, e.Comment},
		)
	}

	return terminal.Table(cmd.OutOrStdout(), rows)
}
