package task

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewWorkspace makes the group of commands about workspaces.
func NewWorkspace() *cobra.Command {
	return terminal.Group(&cobra.Command{Use: "workspace", Short: "Manage the workspaces of tasks and their members"},
		remote.Ask[shape.Workspace]{
			Use: "create NAME", Short: "Create a workspace and become its first member", Keyed: true,
			Call: "POST /v1/workspaces", Text: "name", Fields: settings, Changes: true, Show: remote.One(showWorkspaces),
		}.Command(),
		remote.Ask[shape.Workspace]{
			Use: "change WORKSPACE", Short: "Change one of your workspaces; running deadlines stay as they are", Keyed: true,
			Call: "PATCH /v1/workspaces/{}", Changes: true,
			Fields: append([]remote.Field{{Flag: "name", About: "a new name"}}, settings...),
			Show:   remote.One(showWorkspaces),
		}.Command(),
		remote.List[shape.Workspace]{
			Use: "list", Short: "List your workspaces, oldest first (administrators see all)",
			Path: "/v1/workspaces", Show: showWorkspaces,
		}.Command(),
		remote.List[shape.Member]{
			Use: "members WORKSPACE", Short: "List the members of a workspace",
			Path: "/v1/workspaces/{}/members", Show: showMembers,
		}.Command(),
		remote.Do{
			Use: "member WORKSPACE USER", Short: "Invite a person to a workspace or add one of your agents, by id or @username",
			Call: "PUT /v1/workspaces/{}/members/{}",
			Done: func(args []string) string {
				return fmt.Sprintf("workspace %s: agent %s is a member now; person %s is invited, and joins once they accept", args[0], args[1], args[1])
			},
		}.Command(),
		remote.Do{
			Use:   "remove WORKSPACE USER",
			Short: "Remove a user from a workspace; the user keeps tasks already claimed",
			Call:  "DELETE /v1/workspaces/{}/members/{}",
			Done:  func(args []string) string { return fmt.Sprintf("user %s is not in workspace %s", args[1], args[0]) },
		}.Command(),
		remote.List[shape.Invitation]{
			Use: "invitations", Short: "List your invitations to workspaces, newest first",
			Path: "/v1/invitations", Show: showInvitations,
		}.Command(),
		remote.Do{
			Use: "agree WORKSPACE", Short: "Accept an invitation to a workspace",
			Call: "POST /v1/workspaces/{}/agree", List: "/v1/invitations",
			Done: func(args []string) string { return fmt.Sprintf("workspace %s: you are a member", args[0]) },
		}.Command(),
		remote.Do{
			Use: "refuse WORKSPACE", Short: "Refuse an invitation to a workspace for good: nobody can invite you again",
			Call: "POST /v1/workspaces/{}/refuse", List: "/v1/invitations",
			Done: func(args []string) string { return fmt.Sprintf("workspace %s: you have refused", args[0]) },
		}.Command(),
	)
}

// settings are the fields of a workspace's settings.
var settings = []remote.Field{
	{
		Flag: "deadline", Name: "status_deadlines", Value: []string(nil), Read: readDeadlines,
		About: "STATUS=MINUTES for NEW, IN_PROGRESS or BLOCKED; comma-separated or repeated; 0: no deadline",
	},
	{
		Flag: "release-stuck-after", Name: "stuck_release_after", Value: 0., Read: readRelease,
		About: "minutes after which a STUCK task becomes NEW again; 0: never",
	},
	{
		Flag: "new-waits-for-blockers", Name: "new_deadline_waits_for_blockers", Value: false,
		About: "start the deadline of a NEW task when its last blocker is DONE",
	},
	{
		Flag: "review-required", Value: false,
		About: "allow DONE only after somebody else has approved the result",
	},
}

func readRelease(value any) (any, error) {
	if !isNumber(value.(float64)) {
		return nil, terminal.UsageError("--release-stuck-after is not a number: give minutes, such as 30")
	}
	return value, nil
}

// isNumber rejects NaN and infinities, which strconv accepts too.
func isNumber(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// readDeadlines parses STATUS=MINUTES. The API validates the names of the statuses.
func readDeadlines(texts any) (any, error) {
	minutes := map[string]float64{}
	for _, text := range texts.([]string) {
		status, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !isNumber(value) {
			return nil, terminal.UsageError("invalid deadline " + text + ": give STATUS=MINUTES, such as NEW=120")
		}
		minutes[strings.ToUpper(status)] = value
	}
	return minutes, nil
}

var showMembers = remote.Rows(func(m shape.Member) []string {
	return []string{m.UserID, m.Name, m.OwnerName, terminal.When(m.JoinedAt)}
}, "USER", "NAME", "OWNER", "SINCE")

var showInvitations = remote.Rows(func(i shape.Invitation) []string {
	return []string{i.WorkspaceID, i.WorkspaceName, i.InvitedBy, i.InvitedByName, terminal.When(i.InvitedAt)}
}, "WORKSPACE", "NAME", "INVITED BY", "NAME", "SINCE")

var showWorkspaces = remote.Rows(func(w shape.Workspace) []string {
	waits := "no"
	if w.NewDeadlineWaitsForBlockers {
		waits = "for blockers"
	}

	reviews := "no"
	if w.ReviewRequired {
		reviews = "required"
	}

	return []string{
		w.ID, w.Name, w.OwnerID,
		minutesText(w.StatusDeadlines[lifecycle.TaskNew]),
		minutesText(w.StatusDeadlines[lifecycle.TaskInProgress]),
		minutesText(w.StatusDeadlines[lifecycle.TaskBlocked]),
		minutesText(w.StuckReleaseAfter), waits, reviews, terminal.When(w.CreatedAt),
	}
}, "ID", "NAME", "OWNER", "NEW", "IN_PROGRESS", "BLOCKED", "STUCK IS RELEASED", "NEW WAITS", "REVIEW", "SINCE")

func minutesText(minutes float64) string {
	if minutes == 0 {
		return "never"
	}
	return terminal.Took(time.Duration(minutes * float64(time.Minute)))
}
