package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newCreate(t *remote.Target) *cobra.Command {
	var task shape.TaskRequest
	var assignee string
	cmd := remote.Ask[shape.Task]{
		As: t.AsUser, Use: "create TITLE", Short: "Create a task", Args: terminal.Exactly(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			if task.WorkspaceID == "" {
				return client.Call{}, errNoWorkspace
			}
			task.Title, task.AssigneeID = args[0], shape.Optional(assignee)
			return client.Call{Method: http.MethodPost, Path: "/v1/tasks", Body: task}, nil
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
	flags.StringSliceVar(&task.BlockedBy, "blocked-by", nil, "id of a task that must be DONE first; may be given several times")
	return cmd
}

var errNoWorkspace = terminal.UsageError("--workspace is missing: give the id of a workspace (starter workspace list)")

func newBatch(t *remote.Target) *cobra.Command {
	var workspace string
	cmd := remote.Ask[shape.TaskBatch]{
		As: t.AsUser, Use: "batch FILE", Short: "Create a graph of tasks, all or none", Args: terminal.Exactly(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			if workspace == "" {
				return client.Call{}, errNoWorkspace
			}
			tasks, err := readBatch(args[0])
			body := map[string]any{"workspace_id": workspace, "tasks": tasks}
			return client.Call{Method: http.MethodPost, Path: "/v1/tasks/batch", Body: body}, err
		},
		Show: showMade,
	}.Command()

	cmd.Long = `Create a graph of tasks, all or none.

FILE (- is the standard input) holds a JSON list of tasks. Each has a title and may have the
fields of POST /v1/tasks; blocked_by names other tasks of the list by their "ref".`

	cmd.Example = "  echo '[{\"ref\":\"a\",\"title\":\"Draw it\"},{\"title\":\"Build it\",\"blocked_by\":[\"a\"]}]' |\n" +
		"    starter task batch - --workspace 2"
	cmd.Flags().StringVar(&workspace, "workspace", "", "id of the workspace; required")
	return cmd
}

// readBatch reads a list of tasks. The API checks what they contain.
func readBatch(name string) ([]json.RawMessage, error) {
	source := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, terminal.UsageError(err.Error())
		}
		defer file.Close()
		source = file
	}

	var tasks []json.RawMessage
	if err := json.NewDecoder(source).Decode(&tasks); err != nil {
		what := "is not JSON: " + err.Error()
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
			what = `is JSON, but not a list of tasks: [{"title": "…"}, …]`
		}
		return nil, terminal.UsageError(cmp.Or(strings.TrimPrefix(name, "-"), "the standard input") + " " + what)
	}

	return tasks, nil
}

func showMade(cmd *cobra.Command, made shape.TaskBatch) error {
	rows := [][]string{{"REF", "ID", "STATUS", "WAITS FOR", "TITLE"}}
	for _, t := range made.Items {
		rows = append(rows, []string{t.Ref, t.ID, string(t.Status), waitsFor(t.Task), t.Title})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
