// Package task has the commands about tasks and their workspaces.
package task

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// New makes the group of commands about tasks.
func New() *cobra.Command {
	workspace := remote.Filter{
		Flag: "workspace", Parameter: "workspace_id", About: "filter by workspace id",
	}
	return terminal.Group(&cobra.Command{
		Use: "task", Short: "Share work: create, claim, finish and rescue tasks",
		Long: `Share work with the other members of a workspace.

Every command that changes a task's state needs a comment that says why: it comes last, after the flags and the ID.`,
		Example: "  starter task create \"Write the notes\" --workspace 2\n" +
			"  starter task claim 12 I know this part\n  starter task done 12 they are online",
	},
		newCreate(), newBatch(),
		remote.List[shape.Task]{
			Use: "list", Short: "List the tasks that you can see, newest first",
			Path: "/v1/tasks",
			Filters: []remote.Filter{
				workspace,
				{
					Flag: "in-status", Parameter: "status", Write: strings.ToUpper, Values: lifecycle.Task.StateNames(),
					About: "filter by status, such as NEW or STUCK",
				},
				{Flag: "assignee", About: "filter by the assignee's user id, or me"},
				{Flag: "search", Parameter: "q", About: "filter by words in the title or the description"},
			},
			ShowBy: showTasks,
		}.Command(),
		remote.List[shape.Task]{
			Use: "ready", Short: "List the tasks that can be claimed now",
			Path:    "/v1/tasks",
			Query:   func([]string) url.Values { return url.Values{"ready": {"true"}} },
			Filters: []remote.Filter{workspace},
			ShowBy:  showTasks,
		}.Command(),
		remote.Ask[shape.Task]{
			Use: "show ID", Short: "Show one task",
			Call: "GET /v1/tasks/{}", ShowBy: showTaskAndPeople,
		}.Command(),
		newNext(),
		newClaim("claim", "Claim a task that is ready"), newHeartbeat(),
		newStatusAction("done", "Finish your task: it is DONE", lifecycle.TaskDone),
		newStatusAction("release", "Give your task back: it is NEW and has no assignee", lifecycle.TaskNew),
		newStatusAction("block", "Block your task: it cannot go on for now", lifecycle.TaskBlocked),
		remote.Ask[shape.Task]{
			Use: "escalate ID COMMENT…", Short: "Block a task that somebody else works on", Keyed: true,
			Call: "POST /v1/tasks/{}/escalate", Text: "comment", Show: showTask,
		}.Command(),
		newClaim("takeover", "Take over a STUCK task"),
		newStatus(),
		remote.Ask[shape.History]{
			Use: "comment ID COMMENT…", Short: "Comment on a task", Keyed: true,
			Call: "POST /v1/tasks/{}/comments", Text: "comment", Show: remote.One(remote.ShowEvents),
		}.Command(),
		newSubmit(), newReview("approve", "Approve the result of somebody else's task"),
		newReview("reject", "Reject the result of somebody else's task"), newSubmissions(), newEdit(),
		remote.Ask[shape.TaskOptions]{
			Use: "actions ID", Short: "Show what you may do with a task now, and why you may not do the rest",
			Call: "GET /v1/tasks/{}/actions", Show: showOptions,
		}.Command(),
		remote.List[shape.History]{
			Use: "events ID", Short: "Show the history of a task, from the beginning",
			Path: "/v1/tasks/{}/events", Show: remote.ShowEvents,
		}.Command(),
		newDependencies(),
	)
}

// NextSteps advise what to do about a refusal.
var NextSteps = map[fault.Code]string{
	fault.TaskNotFound:       "list them: starter task list",
	fault.WorkspaceNotFound:  "list them: starter workspace list",
	fault.TaskAlreadyClaimed: "choose another one: starter task ready",
	fault.UnresolvedBlockers: "see what it waits for: starter task dep ID",
	fault.CannotEscalateOwn:  "block it yourself: starter task block ID COMMENT",
	fault.CannotTakeover:     "it is already yours, continue: starter task status ID IN_PROGRESS COMMENT",
	fault.LeaseLost:          "stop working on it, and see its current state: starter task show ID",
	fault.CommentRequired:    "say why, after the ID",

	fault.ReviewRequired:       "submit the result and have somebody else approve it: starter task submit ID FILE COMMENT",
	fault.SubmissionNotCurrent: "see the newest result: starter task submissions ID",
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
		[]string{"waits for", shape.Value(t.WaitsFor)},
		[]string{"deadline", terminal.WhenSet(t.StatusDeadlineAt)},
		[]string{"lease until", terminal.WhenSet(t.LeaseExpiresAt)},
		[]string{"fencing token", number(t.FencingToken)},
		[]string{"released at", terminal.WhenSet(t.ReleaseAt)},
		[]string{"assignee", shape.Value(t.AssigneeID)},
		[]string{"labels", strings.Join(t.Labels, ", ")},
	)

	for _, b := range t.Blockers {
		rows = append(rows, []string{"blocker", fmt.Sprintf("%s, %s", b.ID, b.Status)})
	}

	if t.Submission != nil {
		approval := "not approved"
		if t.Approved {
			approval = "approved"
		}
		rows = append(rows, []string{"submission", fmt.Sprintf("%d, %s", *t.Submission, approval)})
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

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// allowedText lists the actions that the caller may take, and the statuses that the action status may set.
func allowedText(t shape.Task) string {
	var allowed []string
	for _, action := range t.AllowedActions {
		text := string(action)
		if action == lifecycle.TaskActionStatus {
			text += " (to " + terminal.Join(t.AllowedStatuses) + ")"
		}
		allowed = append(allowed, text)
	}
	return cmp.Or(strings.Join(allowed, ", "), "nothing now")
}

func showOptions(cmd *cobra.Command, o shape.TaskOptions) error {
	return remote.Rows(func(o shape.TaskOption) []string {
		answer := "yes"
		switch {
		case o.ChangesNothing:
			answer = "it is already yours"
		case !o.Allowed:
			answer = "no"
		}
		return []string{string(o.Action), string(o.To), answer, string(shape.Value(o.Code)), o.Reason}
	}, "ACTION", "TO", "MAY YOU", "CODE", "WHY NOT")(cmd, o.Items)
}
