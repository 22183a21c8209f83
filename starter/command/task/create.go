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
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newTaskCreate(t *remote.Target) *cobra.Command {
	var workspace, description, visibility, priority, assignee, key string
	var labels, blockers []string
	cmd := remote.Ask(t, "create TITLE", "Make a task", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		body := map[string]any{"workspace_id": workspace, "title": args[0]}
		for name, value := range map[string]string{"description": description, "visibility": visibility, "priority": priority, "assignee_id": assignee} {
			if value != "" {
				body[name] = value
			}
		}

		for name, values := range map[string][]string{"labels": labels, "blocked_by": blockers} {
			if len(values) > 0 {
				body[name] = values
			}
		}

		if workspace == "" {
			return client.Call{}, errNoWorkspace
		}
		return client.Call{Method: http.MethodPost, Path: "/v1/tasks", Body: body, IdempotencyKey: key}, nil
	}, showTask)

	flags := cmd.Flags()
	flags.StringVar(&workspace, "workspace", "", "id of the workspace; required")
	flags.StringVar(&description, "description", "", "what is to be done")
	flags.StringVar(&visibility, "visibility", "", "public or private (default public)")
	flags.StringVar(&priority, "priority", "", "low, normal, high or critical (default normal)")
	flags.StringVar(&assignee, "assignee", "", "id of the member who is to do it (default: who claims it)")
	flags.StringSliceVar(&labels, "label", nil, "a label; may be given several times")
	flags.StringSliceVar(
		&blockers, "blocked-by", nil, "id of a task that has to be DONE first; may be given several times",
	)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

var errNoWorkspace = terminal.UsageError("--workspace is required: the id of a workspace (starter workspace list)")

// MadeTasks are the tasks of a batch.
type MadeTasks struct {
	Items []struct {
		Ref string `json:"ref"`
		Task
	} `json:"items"`
}

func newTaskBatch(t *remote.Target) *cobra.Command {
	var workspace, key string
	cmd := remote.Ask(t, "batch FILE", "Make a whole graph of tasks, all or none", terminal.Between(1, 1), func(args []string) (client.Call, error) {
		if workspace == "" {
			return client.Call{}, errNoWorkspace
		}
		tasks, err := readBatch(args[0])
		return client.Call{
			Method: http.MethodPost, Path: "/v1/tasks/batch", Body: map[string]any{"workspace_id": workspace, "tasks": tasks},
			IdempotencyKey: key,
		}, err
	}, showMade)

	cmd.Long = `Make a whole graph of tasks, all or none.

FILE (- is the standard input) holds a JSON list of tasks. Each has a title, may have all that
"task create" knows, and a ref: by their refs, blocked_by names other tasks of the list.`

	cmd.Example = `  echo '[{"ref":"a","title":"Draw it"},{"title":"Build it","blocked_by":["a"]}]' | starter task batch - --workspace 2`
	cmd.Flags().StringVar(&workspace, "workspace", "", "id of the workspace; required")
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

// readBatch reads a list of tasks. The API looks at what is in it.
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

func showMade(cmd *cobra.Command, made MadeTasks) error {
	rows := [][]string{{"REF", "ID", "STATUS", "WAITS FOR", "TITLE"}}
	for _, t := range made.Items {
		rows = append(rows, []string{t.Ref, t.ID, string(t.Status), waitsFor(t.Task), t.Title})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}
