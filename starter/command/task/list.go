package task

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func showTasks(cmd *cobra.Command, c *client.Client, tasks []shape.Task) error {
	names := assignees{}
	for _, t := range tasks {
		if t.AssigneeID != nil && names[t.WorkspaceID] == nil {
			members, err := membersOf(cmd.Context(), c, t.WorkspaceID)
			if err != nil {
				return err
			}
			names[t.WorkspaceID] = members
		}
	}

	return remote.Rows(func(t shape.Task) []string {
		return []string{
			t.ID, string(t.Status), t.Priority, names.of(t), waitsFor(t), terminal.WhenSet(t.StatusDeadlineAt), t.Title,
		}
	}, "ID", "STATUS", "PRIORITY", "ASSIGNEE", "WAITS FOR", "DEADLINE", "TITLE")(cmd, tasks)
}

// assignees are the names of members by their ids, by the workspace.
type assignees map[string]map[string]string

// of names who works on a task; empty: nobody does.
func (a assignees) of(t shape.Task) string {
	if t.AssigneeID == nil {
		return ""
	}
	return cmp.Or(a[t.WorkspaceID][*t.AssigneeID], words.Person.In(words.English, *t.AssigneeID))
}

// membersOf names the members of a workspace. Who has a task of a workspace that they have left sees numbers.
func membersOf(ctx context.Context, c *client.Client, workspace string) (map[string]string, error) {
	names := map[string]string{}
	err := client.EachItem(
		ctx, c, remote.Call("GET /v1/workspaces/{}/members", workspace).Path, url.Values{}, func(m shape.Member) bool {
			names[m.UserID] = words.NameOf(m.Name, m.OwnerName)
			return false
		},
	)
	if refusal, refused := errors.AsType[*client.Refusal](err); refused && refusal.Code == fault.WorkspaceNotFound {
		err = nil
	}
	return names, err
}
