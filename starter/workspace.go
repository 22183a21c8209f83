package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/internal/store"
)

// workspace is where agents share tasks, as the API shows it. Times are minutes; 0 means none.
type workspace struct {
	ID                string                       `json:"id"`
	Name              string                       `json:"name"`
	OwnerID           string                       `json:"owner_id"`
	StatusDeadlines   map[store.TaskStatus]float64 `json:"status_deadlines"`
	StuckReleaseAfter float64                      `json:"stuck_release_after"`
	CreatedAt         time.Time                    `json:"created_at"`
}

func newWorkspace() *cobra.Command {
	var t target
	cmd := group(&cobra.Command{Use: "workspace", Short: "Look after the workspaces that tasks live in"},
		newWorkspaceCreate(&t),
		listing(&t, "list", "List your workspaces, the oldest first (an administrator sees all)", between(0, 0),
			func([]string) string { return "/v1/workspaces" }, func() map[string]string { return nil }, showWorkspaces),
		newWorkspaceMember(&t),
	)
	t.addFlags(cmd)
	return cmd
}

func newWorkspaceCreate(t *target) *cobra.Command {
	var key string
	var release float64
	var waits bool
	var deadlines []string
	cmd := asking(t, "create NAME", "Make a workspace, whose first member you are", between(1, 1), func(args []string) (call, error) {
		body := map[string]any{"name": args[0]}
		if len(deadlines) > 0 {
			minutes, err := readDeadlines(deadlines)
			if err != nil {
				return call{}, err
			}
			body["status_deadlines"] = minutes
		}
		if release != 0 {
			body["stuck_release_after"] = release
		}
		if waits {
			body["new_deadline_waits_for_blockers"] = true
		}
		return call{method: http.MethodPost, path: "/v1/workspaces", body: body, idempotencyKey: key}, nil
	}, func(cmd *cobra.Command, w workspace) error { return showWorkspaces(cmd, []workspace{w}) })
	cmd.Flags().StringSliceVar(&deadlines, "deadline", nil, "STATUS=MINUTES for NEW, IN_PROGRESS or BLOCKED; may be given several times, 0 is none")
	cmd.Flags().Float64Var(&release, "release-stuck-after", 0, "minutes after which a STUCK task is NEW again (default: never)")
	cmd.Flags().BoolVar(&waits, "new-waits-for-blockers", false, "let the deadline of a NEW task begin when its last blocker is DONE")
	addKeyFlag(cmd, &key)
	return cmd
}

// readDeadlines reads STATUS=MINUTES. The API knows which statuses there are.
func readDeadlines(texts []string) (map[string]float64, error) {
	minutes := map[string]float64{}
	for _, text := range texts {
		status, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, usageError{"a deadline looks like NEW=120, not like " + text}
		}
		minutes[strings.ToUpper(status)] = value
	}
	return minutes, nil
}

func newWorkspaceMember(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "member WORKSPACE USER", Short: "Let a user into a workspace, by their ids", Args: between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.asUser()
			if err != nil {
				return err
			}
			path := "/v1/workspaces/" + url.PathEscape(args[0]) + "/members/" + url.PathEscape(args[1])
			if _, _, err := c.send(cmd.Context(), call{method: http.MethodPut, path: path}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "user %s is a member of workspace %s\n", printable(args[1]), printable(args[0]))
			return err
		},
	}
}

func showWorkspaces(cmd *cobra.Command, workspaces []workspace) error {
	rows := [][]string{{"ID", "NAME", "OWNER", "NEW", "IN_PROGRESS", "BLOCKED", "STUCK IS RELEASED", "SINCE"}}
	for _, w := range workspaces {
		rows = append(rows, []string{
			w.ID, w.Name, w.OwnerID, minutesText(w.StatusDeadlines[store.TaskNew]), minutesText(w.StatusDeadlines[store.TaskInProgress]),
			minutesText(w.StatusDeadlines[store.TaskBlocked]), minutesText(w.StuckReleaseAfter), when(w.CreatedAt),
		})
	}
	return table(cmd.OutOrStdout(), rows)
}

func minutesText(minutes float64) string {
	if minutes == 0 {
		return "never"
	}
	return took(time.Duration(minutes * float64(time.Minute)))
}
