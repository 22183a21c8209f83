package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/fault"
	"stagecoach/starter/terminal"
)

// exitCode is the single mapping of errors to exit codes.
func exitCode(err error) int {
	var usage terminal.UsageError
	var away *client.Unreachable
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return 2
	case errors.As(err, &away):
		return 3
	default:
		return 1
	}
}

// explain writes the error and what to do next.
func explain(w io.Writer, cmd *cobra.Command, err error) {
	var usage terminal.UsageError
	var away *client.Unreachable
	var no *client.Refusal
	if asJSON := cmd.Flags().Lookup("json"); asJSON != nil && asJSON.Changed {
		var told any = map[string]string{"detail": err.Error()}
		if errors.As(err, &no) {
			told = no
		}
		_ = json.NewEncoder(w).Encode(told) // an error means that nobody reads
		return
	}
	switch {
	case errors.As(err, &usage):
		writeLines(w, string(usage)) // each invalid setting of a program has its own line
		fmt.Fprintf(w, "next: %s --help\n", cmd.CommandPath())
	case errors.As(err, &away):
		fmt.Fprintf(
			w, "%s\nnext: start it (go run ./dev%s), or point --api or STAGECOACH_API_URL at a running one\n",
			terminal.Printable(away.Error()), stateOf(cmd),
		)
	case errors.As(err, &no):
		explainRefusal(w, cmd, no)
	default:
		writeLines(w, err.Error()) // errors of dev may quote the last lines of a server's log
	}
}

// stateOf repeats the flag that selects which go run ./dev a command calls.
func stateOf(cmd *cobra.Command) string {
	flag := cmd.Flags().Lookup("state")
	if flag == nil || !flag.Changed {
		return ""
	}
	return " --state " + terminal.Printable(flag.Value.String())
}

// writeLines writes a text of several lines.
func writeLines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, terminal.Printable(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")))
	}
}

// explainRefusal writes the API's response, and the next step if there is one.
func explainRefusal(w io.Writer, cmd *cobra.Command, r *client.Refusal) {
	sentence := r.Sentence()
	if len(r.Errors) > 0 {
		sentence = strings.TrimSuffix(sentence, ": see errors")
	}
	fmt.Fprintf(w, "%s: %s\n", terminal.Printable(string(r.Code)), terminal.Printable(sentence))
	for _, e := range r.Errors {
		name := strings.TrimPrefix(strings.TrimPrefix(e.Field, "body."), "query.")
		if flag := strings.ReplaceAll(name, "_", "-"); cmd.Flags().Lookup(flag) != nil {
			name = "--" + flag
		}
		fmt.Fprintf(w, "field: %s: %s\n", terminal.Printable(name), terminal.Printable(e.Message))
	}

	for _, name := range slices.Sorted(maps.Keys(r.Details)) {
		if text := detailText(r.Details[name]); text != "" {
			fmt.Fprintf(w, "detail: %s: %s\n", terminal.Printable(name), terminal.Printable(text))
		}
	}

	if next := nextStep(cmd, r); next != "" {
		if strings.Contains(next, "starter ") {
			next += stateOf(cmd)
		}
		fmt.Fprintf(w, "next: %s\n", next)
	}
}

// detailText formats a refusal's detail.
func detailText(value any) string {
	switch value := value.(type) {
	case nil:
		return "none"
	case []any:
		texts := make([]string, len(value))
		for i, one := range value {
			texts[i] = fmt.Sprint(one)
		}
		return strings.Join(texts, ", ")
	default:
		return fmt.Sprint(value)
	}
}

// nextStep says what the caller can do about a refusal; empty when the refusal itself says it.
func nextStep(cmd *cobra.Command, r *client.Refusal) string {
	if next, known := cmd.Annotations[string(r.Code)]; known { // for this command alone
		return next
	}

	for _, steps := range nextSteps {
		if next, known := steps[r.Code]; known {
			return next
		}
	}

	switch {
	case r.Code == fault.InvalidTransition:
		return "check its state: " + showCommand(cmd)
	case r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests:
		return "try again in a moment; administrators can check: starter status"
	default:
		return ""
	}
}

// commonSteps are the next steps for codes that belong to no workload.
var commonSteps = map[fault.Code]string{
	fault.Unauthenticated: "give a valid token with --token or STAGECOACH_TOKEN; " +
		"an administrator creates one with: starter user token ID",
	fault.InsufficientAccess: "use the owner's token; administrator commands need an administrator's token",
	fault.InsufficientScope:  "use another token, or create one with the scope: starter token create NAME --scope SCOPE",
	fault.UserNotActive:      "ask an administrator to run: starter user approve ID",
	fault.RateLimited:        "wait a few seconds and try again",
	fault.QuotaExceeded: "end some of yours, or ask an administrator to raise the limit: " +
		"the settings STAGECOACH_LIMIT_…",

	fault.UserNotFound:    "list them: starter user list",
	fault.TokenNotFound:   "list them: starter token list",
	fault.WebhookNotFound: "list them: starter webhook list",
}

// showCommand names the command that shows the entity of a refused command: the nearest one, or all of them.
func showCommand(cmd *cobra.Command) string {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		if show := showsOf(cmd); show != "" {
			return show
		}
	}

	var all []string
	for _, group := range cmd.Commands() {
		if show := showsOf(group); show != "" {
			all = append(all, show)
		}
	}
	return strings.Join(all, " or ")
}

// showsOf returns the usage line of a group's show command; empty if it has none.
func showsOf(group *cobra.Command) string {
	for _, cmd := range group.Commands() {
		if cmd.Name() == "show" {
			return group.CommandPath() + " " + cmd.Use
		}
	}
	return ""
}
