// Package task has the commands about tasks and their workspaces.
package task

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func Path(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

// New makes the group of commands about tasks.
func New() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use: "task", Short: "Share work: create, claim, finish and rescue tasks",
		Long: `Share work with the other members of a workspace.

Each command that changes the state of a task needs a comment, which says why: it follows the ID.`,
		Example: "  starter task create \"Write the notes\" --workspace 2\n" +
			"  starter task claim 12 I know this part\n  starter task done 12 they are online",
	},
		newCreate(&t), newBatch(&t), newList(&t), newReady(&t), newShow(&t),
		newAction(&t, "claim", "Claim a task that is ready", "claim", ""),
		newAction(&t, "done", "Finish your task: it is DONE", "status", lifecycle.TaskDone),
		newAction(&t, "release", "Give your task back: it is NEW and has no assignee", "status", lifecycle.TaskNew),
		newAction(&t, "block", "Block your task: something prevents its work", "status", lifecycle.TaskBlocked),
		newAction(&t, "escalate", "Block a task that somebody else works on", "escalate", ""),
		newAction(&t, "takeover", "Take over a STUCK task", "takeover", ""),
		newStatus(&t), newComment(&t), newEvents(&t), newDependencies(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func showTasks(cmd *cobra.Command, tasks []shape.Task) error {
	rows := [][]string{{"ID", "STATUS", "PRIORITY", "ASSIGNEE", "WAITS FOR", "DEADLINE", "TITLE"}}
	for _, t := range tasks {
		rows = append(rows, []string{
			t.ID, string(t.Status), t.Priority, shape.Value(t.AssigneeID), waitsFor(t), terminal.WhenSet(t.StatusDeadlineAt), t.Title,
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

// waitsFor lists the blockers that are not DONE yet.
func waitsFor(t shape.Task) string {
	var open []string
	for _, b := range t.Blockers {
		if b.Status != lifecycle.TaskDone {
			open = append(open, b.ID)
		}
	}
	return strings.Join(open, ", ")
}

func showTask(cmd *cobra.Command, t shape.Task) error {
	rows := terminal.Filled(
		[]string{"task", t.ID},
		[]string{"title", t.Title},
		[]string{"status", string(t.Status)},
		[]string{"since", terminal.When(t.StatusSince)},
		[]string{"deadline", terminal.WhenSet(t.StatusDeadlineAt)},
		[]string{"released at", terminal.WhenSet(t.ReleaseAt)},
		[]string{"assignee", shape.Value(t.AssigneeID)},
		[]string{"labels", strings.Join(t.Labels, ", ")},
	)

	for _, b := range t.Blockers {
		rows = append(rows, []string{"blocker", fmt.Sprintf("%s, %s", b.ID, b.Status)})
	}

	heading := "description"
	for line := range strings.Lines(t.Description) {
		rows = append(rows, []string{heading, strings.TrimRight(line, "\r\n")})
		heading = ""
	}

	return terminal.Table(cmd.OutOrStdout(), append(rows,
		[]string{"priority", t.Priority},
		[]string{"visibility", t.Visibility},
		[]string{"workspace", t.WorkspaceID},
		[]string{"creator", t.CreatorID},
		[]string{"created", terminal.When(t.CreatedAt)},
		[]string{"changed", terminal.When(t.UpdatedAt)},
		[]string{"workflow", t.WorkflowID},
		[]string{"you may", allowedText(t)},
	))
}

// allowedText lists the actions that the caller may take, and the statuses that the action status may give.
func allowedText(t shape.Task) string {
	text := terminal.Join(t.AllowedActions)
	if len(t.AllowedStatuses) > 0 {
		text += " (to " + terminal.Join(t.AllowedStatuses) + ")"
	}
	return cmp.Or(text, "nothing now")
}
