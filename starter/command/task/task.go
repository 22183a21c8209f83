// Package task has the commands about tasks and their workspaces.
package task

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// Task is a task as the API shows it.
type Task struct {
	ID          string              `json:"id"`
	WorkspaceID string              `json:"workspace_id"`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Visibility  string              `json:"visibility"`
	Priority    string              `json:"priority"`
	Labels      []string            `json:"labels"`
	Status      lifecycle.TaskState `json:"status"`
	Since       time.Time           `json:"status_since"`
	DeadlineAt  time.Time           `json:"status_deadline_at"` // zero: none
	ReleaseAt   time.Time           `json:"release_at"`         // zero: never
	CreatorID   string              `json:"creator_id"`
	AssigneeID  string              `json:"assignee_id"` // empty: nobody
	Blockers    []blocker           `json:"blockers"`
	Ready       bool                `json:"ready"`
	Actions     []string            `json:"allowed_actions"`
	Statuses    []string            `json:"allowed_statuses"`
	WorkflowID  string              `json:"workflow_id"`
	CreatedAt   time.Time           `json:"created_at"`
	UpdatedAt   time.Time           `json:"updated_at"`
	FinishedAt  time.Time           `json:"finished_at"` // zero: it is not over
}

// blocker is a task that has to be DONE before another may begin.
type blocker struct {
	ID     string              `json:"id"`
	Status lifecycle.TaskState `json:"status"`
}

func (t Task) Ended() bool {
	return t.Status == lifecycle.TaskDone || t.Status == lifecycle.TaskCancelled
}

func Path(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

func New() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use: "task", Short: "Share work: make tasks, take them, finish them, rescue them",
		Long: `Share work with the other members of a workspace.

Whatever moves a task needs a comment, which says why: it is what follows the ID.`,
		Example: "  starter task create \"Write the notes\" --workspace 2\n  starter task claim 12 I know this part\n  starter task done 12 they are online",
	},
		newTaskCreate(&t), newTaskBatch(&t), newTaskList(&t), newTaskReady(&t), newTaskShow(&t),
		taskAction(&t, "claim", "Take a task that is ready", "claim", ""),
		taskAction(&t, "done", "Say that your task is DONE", "status", lifecycle.TaskDone),
		taskAction(&t, "release", "Give a task back: it is NEW and nobody's", "status", lifecycle.TaskNew),
		taskAction(&t, "block", "Say that something is in your task's way", "status", lifecycle.TaskBlocked),
		taskAction(&t, "escalate", "Block a task that somebody else works on", "escalate", ""),
		taskAction(&t, "takeover", "Take a STUCK task and work on it", "takeover", ""),
		newTaskStatus(&t), newTaskComment(&t), newTaskEvents(&t), newTaskDep(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func showTasks(cmd *cobra.Command, tasks []Task) error {
	rows := [][]string{{"ID", "STATUS", "PRIORITY", "ASSIGNEE", "WAITS FOR", "DEADLINE", "TITLE"}}
	for _, t := range tasks {
		rows = append(
			rows, []string{t.ID, string(t.Status), t.Priority, t.AssigneeID, waitsFor(t), terminal.WhenSet(t.DeadlineAt), t.Title},
		)
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

// waitsFor lists the blockers that are not DONE.
func waitsFor(t Task) string {
	var open []string
	for _, b := range t.Blockers {
		if b.Status != lifecycle.TaskDone {
			open = append(open, b.ID)
		}
	}
	return strings.Join(open, ", ")
}

func showTask(cmd *cobra.Command, t Task) error {
	rows := [][]string{{"task", t.ID}, {"title", t.Title}, {"status", string(t.Status)}}
	for _, row := range [][]string{
		{"since", terminal.WhenSet(t.Since)},
		{"deadline", terminal.WhenSet(t.DeadlineAt)},
		{"free again", terminal.WhenSet(t.ReleaseAt)},
		{"assignee", t.AssigneeID},
		{"labels", strings.Join(t.Labels, ", ")},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}

	for _, b := range t.Blockers {
		rows = append(rows, []string{"blocker", fmt.Sprintf("%s, %s", b.ID, b.Status)})
	}

	heading := "description"
	for line := range strings.Lines(t.Description) {
		rows = append(rows, []string{heading, strings.TrimRight(line, "\r\n")})
		heading = ""
	}

	may := strings.Join(t.Actions, ", ")
	if len(t.Statuses) > 0 {
		may += " (to " + strings.Join(t.Statuses, ", ") + ")"
	}

	if may == "" {
		may = "nothing now"
	}
	return terminal.Table(cmd.OutOrStdout(), append(rows,
		[]string{"priority", t.Priority}, []string{
			"visibility", t.Visibility,
		}, []string{"workspace", t.WorkspaceID}, []string{"creator", t.CreatorID},
		[]string{"made", terminal.When(t.CreatedAt)}, []string{"changed", terminal.When(t.UpdatedAt)}, []string{"workflow", t.WorkflowID}, []string{"you may", may}))
}
