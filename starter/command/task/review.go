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
		Use: "submit ID FILE COMMENT…", Short: "Submit the result of your work; the status stays", Keyed: true,
		Long:    "Submit the result of your work; the status stays.\n\nFILE (- is the standard input) holds any JSON, 64 KiB at most.",
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
		Use: action + " ID SUBMISSION COMMENT…", Short: short + "; SUBMISSION is the number of the one you have seen",
		Keyed: true,
		Call:  "POST /v1/tasks/{}/" + action,
		Body: func(args []string) (any, error) {
			submission, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return nil, terminal.UsageError("no submission " + args[1] + ": give its number (starter task submissions ID)")
			}
			return map[string]any{"submission": submission, "comment": strings.Join(args[2:], " ")}, nil
		},
		Show: showTask,
	}.Command()
}

func newSubmissions() *cobra.Command {
	return remote.List[shape.Submission]{
		Use: "submissions ID", Short: "List the results that were submitted, the newest first",
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
		Use: "edit ID", Short: "Change title, description, priority or labels of a task that you have created", Keyed: true,
		Call: "PATCH /v1/tasks/{}", Changes: true,
		Fields: []remote.Field{
			{Flag: "title", About: "a new title"},
			{Flag: "description", About: "what is to be done"},
			{Flag: "priority", About: "low, normal, high or critical"},
			{Flag: "labels", Value: []string(nil), About: "all labels that it has then, with commas; empty: none"},
			{Flag: "comment", About: "why"},
		},
		Show: showTask,
	}.Command()
}

func approval(approved bool) string {
	if approved {
		return "approved"
	}
	return "not approved"
}
