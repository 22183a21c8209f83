package task

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

func newSubmit() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "submit ID FILE COMMENT…", Short: "Submit the result of your work; the status does not change", Keyed: true,
		Long:    "Submit the result of your work; the status does not change.\n\nFILE (- is standard input) holds any JSON of at most 64 KiB,\nin UTF-8, or in UTF-16 with a byte order mark, as PowerShell writes it.",
		Example: `  echo '{"pull_request": 42}' | starter task submit 12 - the tests pass`,
		Call:    "POST /v1/tasks/{}/submit",
		Body: func(args []string) (any, error) {
			var result json.RawMessage
			err := readJSON(args[1], &result, "")
			return map[string]any{"result": result, "comment": strings.Join(args[2:], " ")}, err
		},
		Show: showTask,
	}.Command()
}

// newReview is a command that approves or rejects a result.
func newReview(action, short string) *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: action + " ID SUBMISSION COMMENT…", Short: short + "; SUBMISSION is the number of the one that you reviewed",
		Keyed: true,
		Call:  "POST /v1/tasks/{}/" + action,
		Body: func(args []string) (any, error) {
			submission, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return nil, terminal.UsageError("invalid submission " + args[1] + ": give its number (starter task submissions ID)")
			}
			return map[string]any{"submission": submission, "comment": strings.Join(args[2:], " ")}, nil
		},
		Show: showTask,
	}.Command()
}

func newSubmissions() *cobra.Command {
	return remote.List[shape.Submission]{
		Use: "submissions ID", Short: "List the submitted results, newest first",
		Path: "/v1/tasks/{}/submissions",
		Show: remote.Rows(func(s shape.Submission) []string {
			return []string{
				strconv.FormatInt(s.Seq, 10), s.AuthorID, terminal.When(s.CreatedAt), s.Comment, string(s.Result),
			}
		}, "SUBMISSION", "AUTHOR", "AT", "COMMENT", "RESULT"),
	}.Command()
}

func newEdit() *cobra.Command {
	return remote.Ask[shape.Task]{
		Use: "edit ID", Short: "Change the title, description, priority or labels of a task that you created", Keyed: true,
		Call: "PATCH /v1/tasks/{}", Changes: true,
		Fields: []remote.Field{
			{Flag: "title", About: "a new title"},
			{Flag: "description", About: "what needs to be done"},
			{Flag: "priority", About: "low, normal, high or critical"},
			{
				Flag: "label", Name: "labels", Value: remote.Texts(nil),
				About: "a label, replacing all current ones; repeatable; empty: no labels",
			},
			{Flag: "comment", About: "why"},
		},
		Show: showTask,
	}.Command()
}
