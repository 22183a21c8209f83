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
		newWorkspaceCreate(),
		newWorkspaceChange(),
		remote.List[shape.Workspace]{
			Use: "list", Short: "List your workspaces, the oldest first (an administrator sees all)",
			Path: "/v1/workspaces", Show: showWorkspaces,
		}.Command(),
		remote.List[shape.Member]{
			Use: "members WORKSPACE", Short: "List the members of a workspace, by its id",
			Path: "/v1/workspaces/{}/members", Show: showMembers,
		}.Command(),
		remote.Do{
			Use: "member WORKSPACE USER", Short: "Ask a person to join a workspace, or add an agent of yours, by their ids",
			Call: "PUT /v1/workspaces/{}/members/{}",
			Done: func(args []string) string {
				return fmt.Sprintf("workspace %s: an agent %s is a member; a person %s is asked", args[0], args[1], args[1])
			},
		}.Command(),
		remote.Do{
			Use:   "remove WORKSPACE USER",
			Short: "Remove a user from a workspace, by their ids; the user keeps the tasks already claimed",
			Call:  "DELETE /v1/workspaces/{}/members/{}",
			Done:  func(args []string) string { return fmt.Sprintf("user %s is not in workspace %s", args[1], args[0]) },
		}.Command(),
		remote.List[shape.Invitation]{
			Use: "invitations", Short: "List the workspaces that you are asked to join, the newest first",
			Path: "/v1/invitations", Show: showInvitations,
		}.Command(),
		remote.Do{
			Use: "agree WORKSPACE", Short: "Agree to join a workspace that you are asked to join",
			Call: "POST /v1/workspaces/{}/agree",
			Done: func(args []string) string { return fmt.Sprintf("workspace %s: you are a member", args[0]) },
		}.Command(),
		remote.Do{
			Use: "refuse WORKSPACE", Short: "Refuse to join a workspace, for good: nobody can ask you again",
			Call: "POST /v1/workspaces/{}/refuse",
			Done: func(args []string) string { return fmt.Sprintf("workspace %s: you have refused", args[0]) },
		}.Command(),
	)
}

func newWorkspaceCreate() *cobra.Command {
	var settings workspaceSettings
	cmd := remote.Ask[shape.Workspace]{
		Use: "create NAME", Short: "Create a workspace and become its first member", Keyed: true,
		Call: "POST /v1/workspaces",
		Body: func(args []string) (any, error) { return settings.body(args[0]) },
		Show: showWorkspace,
	}.Command()

	settings.addFlags(cmd)
	return cmd
}

func newWorkspaceChange() *cobra.Command {
	var name string
	var settings workspaceSettings
	cmd := remote.Ask[shape.Workspace]{
		Use: "change WORKSPACE", Short: "Change a workspace of yours, by its id; running deadlines stay", Keyed: true,
		Call: "PATCH /v1/workspaces/{}",
		Body: func([]string) (any, error) {
			body, err := settings.body(name)
			if err == nil && len(body) == 0 {
				err = terminal.UsageError("nothing to change: give --name or another flag")
			}
			return body, err
		},
		Show: showWorkspace,
	}.Command()

	cmd.Flags().StringVar(&name, "name", "", "a new name")
	settings.addFlags(cmd)
	return cmd
}

// workspaceSettings are the flags of a workspace's settings; a setting whose flag is not given keeps its value.
type workspaceSettings struct {
	given     func(flag string) bool
	deadlines []string
	release   float64
	waits     bool
	reviews   bool
}

func (s *workspaceSettings) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	s.given = flags.Changed
	flags.StringSliceVar(
		&s.deadlines, "deadline", nil,
		"STATUS=MINUTES for NEW, IN_PROGRESS or BLOCKED; may be given several times; 0: none",
	)
	flags.Float64Var(&s.release, "release-stuck-after", 0, "minutes after which a STUCK task is NEW again; 0: never")
	flags.BoolVar(
		&s.waits, "new-waits-for-blockers", false, "begin the deadline of a NEW task when its last blocker is DONE",
	)
	flags.BoolVar(
		&s.reviews, "review-required", false, "let a task be DONE only when somebody else has approved its result",
	)
}

// body has the settings that are given, and the name unless it is empty.
func (s *workspaceSettings) body(name string) (map[string]any, error) {
	body := map[string]any{}
	if name != "" {
		body["name"] = name
	}

	if s.given("deadline") {
		minutes, err := readDeadlines(s.deadlines)
		if err != nil {
			return nil, err
		}
		body["status_deadlines"] = minutes
	}

	if s.given("release-stuck-after") {
		if !isNumber(s.release) {
			return nil, terminal.UsageError("--release-stuck-after is no number: give minutes, such as 30")
		}
		body["stuck_release_after"] = s.release
	}

	if s.given("new-waits-for-blockers") {
		body["new_deadline_waits_for_blockers"] = s.waits
	}

	if s.given("review-required") {
		body["review_required"] = s.reviews
	}
	return body, nil
}

// isNumber refuses NaN and the infinities, which strconv reads as well.
func isNumber(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// readDeadlines reads STATUS=MINUTES. The API checks the names of the statuses.
func readDeadlines(texts []string) (map[string]float64, error) {
	minutes := map[string]float64{}
	for _, text := range texts {
		status, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !isNumber(value) {
			return nil, terminal.UsageError("no deadline: " + text + ": give STATUS=MINUTES, such as NEW=120")
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
}, "WORKSPACE", "NAME", "ASKED BY", "NAME", "SINCE")

func showWorkspace(cmd *cobra.Command, w shape.Workspace) error {
	return showWorkspaces(cmd, []shape.Workspace{w})
}

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
