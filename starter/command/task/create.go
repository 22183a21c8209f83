package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newCreate() *cobra.Command {
	var task shape.TaskRequest
	var assignee string
	cmd := remote.Ask[shape.Task]{
		Use: "create TITLE", Short: "Create a task", Keyed: true,
		Call: "POST /v1/tasks",
		Body: func(args []string) (any, error) {
			if task.WorkspaceID == "" {
				return nil, errNoWorkspace
			}
			task.Title, task.AssigneeID = args[0], shape.Optional(assignee)
			return task, nil
		},
		Show: showTask,
	}.Command()

	flags := cmd.Flags()
	flags.StringVar(&task.WorkspaceID, "workspace", "", "id of the workspace; required")
	flags.StringVar(&task.Description, "description", "", "what is to be done")
	flags.StringVar(&task.Visibility, "visibility", "", "public or private (default public)")
	flags.StringVar(&task.Priority, "priority", "", "low, normal, high or critical (default normal)")
	flags.StringVar(&assignee, "assignee", "", "id of the member who is to do it (default: who claims it)")
	flags.StringSliceVar(&task.Labels, "label", nil, "a label; may be given several times")
	flags.StringSliceVar(
		&task.BlockedBy, "blocked-by", nil, "id of a task that must be DONE first; may be given several times",
	)
	return cmd
}

var errNoWorkspace = terminal.UsageError("--workspace is missing: give the id of a workspace (starter workspace list)")

func newBatch() *cobra.Command {
	var workspace string
	cmd := remote.Ask[shape.TaskBatch]{
		Use: "batch FILE", Short: "Create a graph of tasks, all or none", Keyed: true,
		Long: `Create a graph of tasks, all or none.

FILE (- is the standard input) holds a JSON list of tasks. Each has a title and may have the
fields of POST /v1/tasks; blocked_by names other tasks of the list by their "ref".`,
		Example: "  echo '[{\"ref\":\"a\",\"title\":\"Draw it\"},{\"title\":\"Build it\",\"blocked_by\":[\"a\"]}]' |\n" +
			"    starter task batch - --workspace 2",
		Call: "POST /v1/tasks/batch",
		Body: func(args []string) (any, error) {
			if workspace == "" {
				return nil, errNoWorkspace
			}
			tasks, err := readBatch(args[0])
			return map[string]any{"workspace_id": workspace, "tasks": tasks}, err
		},
		Show: showMade,
	}.Command()

	cmd.Flags().StringVar(&workspace, "workspace", "", "id of the workspace; required")
	return cmd
}

// readBatch reads a list of tasks. The API checks what they contain.
func readBatch(name string) ([]json.RawMessage, error) {
	var tasks []json.RawMessage
	return tasks, readJSON(name, &tasks, `a list of tasks: [{"title": "…"}, …]`)
}

// readJSON reads a file, or the standard input by the name "-".
func readJSON(name string, into any, what string) error {
	source := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return terminal.UsageError(err.Error())
		}
		defer file.Close()
		source = file
	}

	err := json.NewDecoder(source).Decode(into)
	if err == nil {
		return nil
	}

	why := "is not JSON: " + err.Error()
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		why = "is JSON, but not " + what
	}
	return terminal.UsageError(cmp.Or(strings.TrimPrefix(name, "-"), "the standard input") + " " + why)
}

func showMade(cmd *cobra.Command, made shape.TaskBatch) error {
	return remote.Rows(func(t shape.BatchTask) []string {
		return []string{t.Ref, t.ID, string(t.Status), waitsFor(t.Task), t.Title}
	}, "REF", "ID", "STATUS", "WAITS FOR", "TITLE")(cmd, made.Items)
}
