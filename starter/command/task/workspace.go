package task

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func workspacePath(id string) string { return "/v1/workspaces/" + url.PathEscape(id) }

func membersPath(id string) string { return workspacePath(id) + "/members" }

// NewWorkspace makes the group of commands about workspaces.
func NewWorkspace() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{Use: "workspace", Short: "Manage the workspaces of tasks and their members"},
		newWorkspaceCreate(&t),
		newWorkspaceChange(&t),
		remote.List[shape.Workspace]{
			As: t.AsUser, Use: "list", Short: "List your workspaces, the oldest first (an administrator sees all)",
			Args:  terminal.Exactly(0),
			Query: func([]string) (string, map[string]string) { return "/v1/workspaces", nil },
			Show:  showWorkspaces,
		}.Command(),
		remote.List[shape.Member]{
			As: t.AsUser, Use: "members WORKSPACE", Short: "List the members of a workspace, by its id",
			Args:  terminal.Exactly(1),
			Query: func(args []string) (string, map[string]string) { return membersPath(args[0]), nil },
			Show:  showMembers,
		}.Command(),
		newMembership(&t, "member", "Add a user to a workspace, by their ids", http.MethodPut, "is a member of"),
		newMembership(
			&t, "remove", "Remove a user from a workspace, by their ids; the user keeps the tasks already claimed",
			http.MethodDelete, "is not in",
		),
		newAgreement(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newWorkspaceCreate(t *remote.Target) *cobra.Command {
	var settings workspaceSettings
	cmd := remote.Ask[shape.Workspace]{
		As: t.AsUser, Use: "create NAME", Short: "Create a workspace and become its first member",
		Args: terminal.Exactly(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			body, err := settings.body()
			if err != nil {
				return client.Call{}, err
			}
			body["name"] = args[0]
			return client.Call{Method: http.MethodPost, Path: "/v1/workspaces", Body: body}, nil
		},
		Show: showWorkspace,
	}.Command()

	settings.addFlags(cmd)
	return cmd
}

func newWorkspaceChange(t *remote.Target) *cobra.Command {
	var name string
	var settings workspaceSettings
	cmd := remote.Ask[shape.Workspace]{
		As: t.AsUser, Use: "change WORKSPACE", Short: "Change a workspace of yours, by its id; running deadlines stay",
		Args: terminal.Exactly(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			body, err := settings.body()
			if err != nil {
				return client.Call{}, err
			}
			if name != "" {
				body["name"] = name
			}

			if len(body) == 0 {
				return client.Call{}, terminal.UsageError("nothing to change: give --name or another flag")
			}
			return client.Call{Method: http.MethodPatch, Path: workspacePath(args[0]), Body: body}, nil
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
}

func (s *workspaceSettings) body() (map[string]any, error) {
	body := map[string]any{}
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

// newMembership is a command that adds or removes a member.
func newMembership(t *remote.Target, name, short, method, relation string) *cobra.Command {
	return remote.Do{
		As: t.AsUser, Use: name + " WORKSPACE USER", Short: short, Args: terminal.Exactly(2),
		Call: func(args []string) client.Call {
			return client.Call{Method: method, Path: membersPath(args[0]) + "/" + url.PathEscape(args[1])}
		},
		Done: func(args []string) string { return fmt.Sprintf("user %s %s workspace %s", args[1], relation, args[0]) },
	}.Command()
}

// newAgreement is the command by which a user agrees to be named in a workspace.
func newAgreement(t *remote.Target) *cobra.Command {
	return remote.Do{
		As: t.AsUser, Use: "agree WORKSPACE",
		Short: "Agree to show your name to the members of a workspace, and to get notices about its tasks",
		Args:  terminal.Exactly(1),
		Call: func(args []string) client.Call {
			return client.Call{Method: http.MethodPost, Path: workspacePath(args[0]) + "/agree"}
		},
		Done: func(args []string) string { return fmt.Sprintf("workspace %s: you have agreed", args[0]) },
	}.Command()
}

func showMembers(cmd *cobra.Command, members []shape.Member) error {
	rows := [][]string{{"USER", "NAME", "AGREED", "SINCE"}}
	for _, m := range members {
		agreed := "not yet"
		if m.Agreed {
			agreed = "yes"
		}
		rows = append(rows, []string{m.UserID, m.Name, agreed, terminal.When(m.JoinedAt)})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showWorkspace(cmd *cobra.Command, w shape.Workspace) error {
	return showWorkspaces(cmd, []shape.Workspace{w})
}

func showWorkspaces(cmd *cobra.Command, workspaces []shape.Workspace) error {
	rows := [][]string{{"ID", "NAME", "OWNER", "NEW", "IN_PROGRESS", "BLOCKED", "STUCK IS RELEASED", "NEW WAITS", "SINCE"}}
	for _, w := range workspaces {
		waits := "no"
		if w.NewDeadlineWaitsForBlockers {
			waits = "for blockers"
		}

		rows = append(rows, []string{
			w.ID, w.Name, w.OwnerID,
			minutesText(w.StatusDeadlines[lifecycle.TaskNew]),
			minutesText(w.StatusDeadlines[lifecycle.TaskInProgress]),
			minutesText(w.StatusDeadlines[lifecycle.TaskBlocked]),
			minutesText(w.StuckReleaseAfter), waits, terminal.When(w.CreatedAt),
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func minutesText(minutes float64) string {
	if minutes == 0 {
		return "never"
	}
	return terminal.Took(time.Duration(minutes * float64(time.Minute)))
}
