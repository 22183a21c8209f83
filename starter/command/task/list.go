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
	names := map[string]map[string]string{} // member names, by workspace and id
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
		assignee := ""
		if t.AssigneeID != nil {
			assignee = cmp.Or(names[t.WorkspaceID][*t.AssigneeID], words.Person.In(words.English, *t.AssigneeID))
		}
		return []string{
			t.ID, string(t.Status), t.Priority, assignee, waitsFor(t), terminal.WhenSet(t.StatusDeadlineAt), t.Title,
		}
	}, "ID", "STATUS", "PRIORITY", "ASSIGNEE", "WAITS FOR", "DEADLINE", "TITLE")(cmd, tasks)
}

// membersOf returns the names of a workspace's members. A person with a task in a workspace that they have left sees
// numbers.
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

// showTaskAndPeople shows a task with the names of its people.
func showTaskAndPeople(cmd *cobra.Command, c *client.Client, t shape.Task) error {
	members, err := membersOf(cmd.Context(), c, t.WorkspaceID)
	if err != nil {
		return err
	}

	named := func(id string) string {
		if members[id] == "" {
			return words.Person.In(words.English, id)
		}
		return members[id] + " (" + id + ")"
	}
	t.CreatorID = named(t.CreatorID)
	if t.AssigneeID != nil {
		t.AssigneeID = shape.Optional(named(*t.AssigneeID))
	}
	return showTask(cmd, t)
}
