package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newCreate() *cobra.Command {
	var task shape.TaskRequest
	var assignee string
	var blockers []string
	cmd := remote.Ask[shape.Task]{
		Use: "create TITLE", Short: "Create a task", Keyed: true,
		Call: "POST /v1/tasks",
		Body: func(args []string) (any, error) {
			if task.WorkspaceID == "" {
				return nil, errNoWorkspace
			}
			task.Title, task.AssigneeID, task.BlockedBy = args[0], shape.Optional(assignee), remote.Words(blockers)
			return task, nil
		},
		Show: showTask,
	}.Command()

	flags := cmd.Flags()
	flags.StringVar(&task.WorkspaceID, "workspace", "", "id of the workspace; required")
	flags.StringVar(&task.Description, "description", "", "what needs to be done")
	flags.StringVar(&task.Visibility, "visibility", "", "public or private (default public)")
	flags.StringVar(&task.Priority, "priority", "", "low, normal, high or critical (default normal)")
	flags.StringVar(&assignee, "assignee", "", "id of the member to assign it to (default: whoever claims it)")
	flags.StringArrayVar(&task.Labels, "label", nil, "a label; repeatable")
	flags.StringArrayVar(
		&blockers, "blocked-by", nil, "id of a task that must be DONE first; comma-separated or repeated",
	)
	return cmd
}

var errNoWorkspace = terminal.UsageError("--workspace is missing: give the id of a workspace (starter workspace list)")

func newBatch() *cobra.Command {
	var workspace string
	cmd := remote.Ask[shape.TaskBatch]{
		Use: "batch FILE", Short: "Create a graph of tasks, all or nothing", Keyed: true,
		Long: `Create a graph of tasks, all or nothing.

FILE (- is standard input) holds a JSON list of tasks. Each has a title and may have the
fields of POST /v1/tasks; blocked_by names other tasks of the list by their "ref". It is UTF-8,
or UTF-16 with a byte order mark, as PowerShell writes it.`,
		Example: "  echo '[{\"ref\":\"a\",\"title\":\"Draw it\"},{\"title\":\"Build it\",\"blocked_by\":[\"a\"]}]' |\n" +
			"    starter task batch - --workspace 2",
		Call: "POST /v1/tasks/batch",
		Body: func(args []string) (any, error) {
			if workspace == "" {
				return nil, errNoWorkspace
			}
			var tasks []json.RawMessage // the API validates their content
			err := readJSON(args[0], &tasks, `a list of tasks: [{"title": "…"}, …]`)
			return map[string]any{"workspace_id": workspace, "tasks": tasks}, err
		},
		Show: showMade,
	}.Command()

	cmd.Flags().StringVar(&workspace, "workspace", "", "id of the workspace; required")
	return cmd
}

// readJSON reads a file; "-" is standard input.
func readJSON(name string, into any, what string) error {
	text, err := terminal.ReadText(name)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(text, into); err == nil {
		return nil
	}

	why := "is not JSON: " + err.Error()
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		why = "is JSON, but not " + what
	}
	return terminal.UsageError(cmp.Or(strings.TrimPrefix(name, "-"), "standard input") + " " + why)
}

func showMade(cmd *cobra.Command, made shape.TaskBatch) error {
	return remote.Rows(func(t shape.BatchTask) []string {
		return []string{t.Ref, t.ID, string(t.Status), waitsFor(t.Task), t.Title}
	}, "REF", "ID", "STATUS", "WAITS FOR", "TITLE")(cmd, made.Items)
}
