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
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// Workspace is where agents share tasks, as the API shows it. Times are minutes; 0 means none.
type Workspace struct {
	ID                string                          `json:"id"`
	Name              string                          `json:"name"`
	OwnerID           string                          `json:"owner_id"`
	StatusDeadlines   map[lifecycle.TaskState]float64 `json:"status_deadlines"`
	StuckReleaseAfter float64                         `json:"stuck_release_after"`
	NewWaits          bool                            `json:"new_deadline_waits_for_blockers"`
	CreatedAt         time.Time                       `json:"created_at"`
}

// member is a user in a workspace.
type member struct {
	UserID   string    `json:"user_id"`
	Name     string    `json:"name"` // empty while the member has not agreed, for most
	Agreed   bool      `json:"agreed"`
	JoinedAt time.Time `json:"joined_at"`
}

func workspacePath(id string) string { return "/v1/workspaces/" + url.PathEscape(id) }

func NewWorkspace() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{Use: "workspace", Short: "Look after the workspaces that tasks live in"},
		newWorkspaceCreate(&t),
		newWorkspaceChange(&t),
		remote.List(&t, "list", "List your workspaces, the oldest first (an administrator sees all)", terminal.Between(0, 0),
			func([]string) string { return "/v1/workspaces" }, func() map[string]string { return nil }, showWorkspaces),
		remote.List(&t, "members WORKSPACE", "List the members of a workspace, by its id", terminal.Between(1, 1),
			func(args []string) string { return workspacePath(args[0]) + "/members" }, func() map[string]string { return nil }, showMembers),
		newMembership(
			&t, "member", "Let a user into a workspace, by their ids", http.MethodPut, "user %s is a member of workspace %s\n",
		),
		newMembership(
			&t, "remove", "Take a user out of a workspace, by their ids; who has a task goes on with it", http.MethodDelete,
			"user %s is not in workspace %s\n",
		),
		newAgreement(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newWorkspaceCreate(t *remote.Target) *cobra.Command {
	var key string
	var settings workspaceSettings
	cmd := remote.Ask(t, "create NAME", "Make a workspace, whose first member you are", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		body, err := settings.body()
		if err != nil {
			return client.Call{}, err
		}
		body["name"] = args[0]
		return client.Call{Method: http.MethodPost, Path: "/v1/workspaces", Body: body, IdempotencyKey: key}, nil
	}, showWorkspace)

	settings.addFlags(cmd)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func newWorkspaceChange(t *remote.Target) *cobra.Command {
	var name, key string
	var settings workspaceSettings
	cmd := remote.Ask(t, "change WORKSPACE", "Change a workspace of yours, by its id; deadlines that run stay", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		body, err := settings.body()
		if err != nil {
			return client.Call{}, err
		}

		if name != "" {
			body["name"] = name
		}

		if len(body) == 0 {
			return client.Call{}, terminal.UsageError("say what to change")
		}
		return client.Call{Method: http.MethodPatch, Path: workspacePath(args[0]), Body: body, IdempotencyKey: key}, nil
	}, showWorkspace)

	cmd.Flags().StringVar(&name, "name", "", "another name")
	settings.addFlags(cmd)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

// workspaceSettings are flags that say how a workspace is to be; those that are not given stay as they are.
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
		"STATUS=MINUTES for NEW, IN_PROGRESS or BLOCKED; may be given several times, 0 is none",
	)
	flags.Float64Var(&s.release, "release-stuck-after", 0, "minutes after which a STUCK task is NEW again; 0 is never")
	flags.BoolVar(
		&s.waits, "new-waits-for-blockers", false, "let the deadline of a NEW task begin when its last blocker is DONE",
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
			return nil, terminal.UsageError("--release-stuck-after takes a number of minutes")
		}
		body["stuck_release_after"] = s.release
	}

	if s.given("new-waits-for-blockers") {
		body["new_deadline_waits_for_blockers"] = s.waits
	}
	return body, nil
}

// isNumber says no to what strconv reads besides numbers.
func isNumber(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// readDeadlines reads STATUS=MINUTES. The API knows which statuses there are.
func readDeadlines(texts []string) (map[string]float64, error) {
	minutes := map[string]float64{}
	for _, text := range texts {
		status, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !isNumber(value) {
			return nil, terminal.UsageError("a deadline looks like NEW=120, not like " + text)
		}
		minutes[strings.ToUpper(status)] = value
	}
	return minutes, nil
}

// newMembership is a command that lets a user in or out.
func newMembership(t *remote.Target, name, short, method, done string) *cobra.Command {
	return &cobra.Command{
		Use: name + " WORKSPACE USER", Short: short, Args: terminal.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			path := workspacePath(args[0]) + "/members/" + url.PathEscape(args[1])
			if _, _, err := c.Send(cmd.Context(), client.Call{Method: method, Path: path}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), done, terminal.Printable(args[1]), terminal.Printable(args[0]))
			return err
		},
	}
}

// newAgreement is the command by which a user agrees to be named in a workspace.
func newAgreement(t *remote.Target) *cobra.Command {
	return &cobra.Command{
		Use:   "agree WORKSPACE",
		Short: "Agree to be named to the members of a workspace that others let you into, and to hear of its tasks",
		Args:  terminal.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}
			if _, _, err := c.Send(cmd.Context(), client.Call{Method: http.MethodPost, Path: workspacePath(args[0]) + "/agree"}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "workspace %s: you have agreed\n", terminal.Printable(args[0]))
			return err
		},
	}
}

func showMembers(cmd *cobra.Command, members []member) error {
	rows := [][]string{{"USER", "NAME", "AGREED", "SINCE"}}
	for _, m := range members {
		rows = append(rows, []string{m.UserID, m.Name, agreedText(m.Agreed), terminal.When(m.JoinedAt)})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func agreedText(agreed bool) string {
	if agreed {
		return "yes"
	}
	return "not yet"
}

func showWorkspace(cmd *cobra.Command, w Workspace) error { return showWorkspaces(cmd, []Workspace{w}) }

func showWorkspaces(cmd *cobra.Command, workspaces []Workspace) error {
	rows := [][]string{{"ID", "NAME", "OWNER", "NEW", "IN_PROGRESS", "BLOCKED", "STUCK IS RELEASED", "NEW WAITS", "SINCE"}}
	for _, w := range workspaces {
		rows = append(rows, []string{
			w.ID, w.Name, w.OwnerID, minutesText(w.StatusDeadlines[lifecycle.TaskNew]),
			minutesText(w.StatusDeadlines[lifecycle.TaskInProgress]),
			minutesText(w.StatusDeadlines[lifecycle.TaskBlocked]), minutesText(w.StuckReleaseAfter), waitsText(w.NewWaits),
			terminal.When(w.CreatedAt),
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func waitsText(waits bool) string {
	if waits {
		return "for blockers"
	}
	return "no"
}

func minutesText(minutes float64) string {
	if minutes == 0 {
		return "never"
	}
	return terminal.Took(time.Duration(minutes * float64(time.Minute)))
}
