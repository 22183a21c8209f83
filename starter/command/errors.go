package command

import (
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

// exitCode is the one map from errors to exit codes.
func exitCode(err error) int {
	var usage terminal.UsageError
	var moved errMoved
	var away *client.Unreachable
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &moved):
		return 2
	case errors.As(err, &away):
		return 3
	default:
		return 1
	}
}

// explain writes what went wrong and what to do next.
func explain(w io.Writer, cmd *cobra.Command, err error) {
	var usage terminal.UsageError
	var away *client.Unreachable
	var no *client.Refusal
	switch {
	case errors.As(err, &usage):
		fmt.Fprintf(w, "%s\nnext: %s --help\n", terminal.Printable(string(usage)), cmd.CommandPath())
	case errors.As(err, &away):
		fmt.Fprintf(
			w, "%s\nnext: start it (go run ./dev), or name a running one with --api or STAGECOACH_API_URL\n",
			terminal.Printable(away.Error()),
		)
	case errors.As(err, &no):
		explainRefusal(w, cmd, no)
	default:
		// Errors of dev may quote the last lines of a server's log; each keeps its own line.
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintln(w, terminal.Printable(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")))
		}
	}
}

// explainRefusal writes what the API answered, and the next step where there is one.
func explainRefusal(w io.Writer, cmd *cobra.Command, r *client.Refusal) {
	fmt.Fprintf(w, "%s: %s\n", terminal.Printable(string(r.Code)), terminal.Printable(r.Sentence()))
	for _, e := range r.Errors {
		fmt.Fprintf(w, "field: %s: %s\n", terminal.Printable(e.Field), terminal.Printable(e.Message))
	}

	for _, name := range slices.Sorted(maps.Keys(r.Details)) {
		if text := detailText(r.Details[name]); text != "" {
			fmt.Fprintf(w, "detail: %s: %s\n", terminal.Printable(name), terminal.Printable(text))
		}
	}

	if next := nextStep(cmd, r); next != "" {
		fmt.Fprintf(w, "next: %s\n", next)
	}
}

// detailText writes a detail of a refusal for people.
func detailText(value any) string {
	if several, ok := value.([]any); ok {
		texts := make([]string, len(several))
		for i, one := range several {
			texts[i] = fmt.Sprint(one)
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(value)
}

// nextStep says what the caller can do about a refusal; empty when the refusal itself says it.
func nextStep(cmd *cobra.Command, r *client.Refusal) string {
	code := r.Code
	if next, known := nextSteps[code]; known {
		return next
	}

	switch {
	case code == fault.InvalidTransition:
		return "look at its state: " + showCommand(cmd)
	case code == fault.ProviderUnavailable && cmd.Name() == "cancel": // the cancel is recorded and repeated
		return "see how it goes: " + showCommand(cmd)
	case code == fault.ProviderUnavailable:
		return "they are off until the API and the worker get their settings: see docs/download.md"
	case r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests:
		return "try again in a moment; administrators find more with: starter status"
	default:
		return ""
	}
}

// nextSteps are the next steps that depend on the code of the refusal alone.
var nextSteps = map[fault.Code]string{
	fault.Unauthenticated: "give a valid token with --token or STAGECOACH_TOKEN; " +
		"an administrator makes one with: starter user token ID",
	fault.InsufficientAccess: "ask whose it is; commands for administrators need an administrator's token",
	fault.InsufficientScope:  "use another token, or create one with the scope: starter token create NAME --scope SCOPE",
	fault.UserNotActive:      "ask an administrator for: starter user approve ID",
	fault.RateLimited:        "wait a few seconds and try again",
	fault.QuotaExceeded: "end some of yours, or ask an administrator for a higher limit: " +
		"the settings STAGECOACH_LIMIT_…",

	fault.UserNotFound:  "look which there are: starter user list",
	fault.TokenNotFound: "look which there are: starter token list",

	fault.NoTelegramChat:   "send /start to the bot as this user, or ask for the delivery as another user",
	fault.FileNotFound:     "look which there are: starter files [PATH]",
	fault.FileIsFolder:     "look which files are in it: starter files [PATH]",
	fault.FileTooBig:       "choose another file: Telegram does not take this one",
	fault.FileEmpty:        "choose another file: Telegram does not take this one",
	fault.DeliveryNotFound: "look which there are: starter deliver list",

	fault.TaskNotFound:       "look which there are: starter task list",
	fault.WorkspaceNotFound:  "look which there are: starter workspace list",
	fault.TaskAlreadyClaimed: "choose another one: starter task ready",
	fault.UnresolvedBlockers: "see what it waits for: starter task dep ID",
	fault.CannotEscalateOwn:  "block it yourself: starter task block ID COMMENT",
	fault.CannotTakeover:     "it is yours, continue: starter task status ID IN_PROGRESS COMMENT",
	fault.CommentRequired:    "say why, after the ID",

	fault.BookNotFound:     "look which there are: starter book list, or add it: starter book add TITLE",
	fault.DownloadNotFound: "look which there are: starter download list",

	fault.TransactionNotFound: "look which there are: starter tx list",
	fault.PaymentUndecided:    "wait for what the chain says: starter tx show HASH",
	fault.NotConfigured:       "it is off until the worker gets its settings: see docs/transaction.md",
}

// showCommand names the command that shows the entity of a refused command.
func showCommand(cmd *cobra.Command) string {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		switch cmd.Name() {
		case "deliver", "task", "download":
			return cmd.CommandPath() + " show ID"
		case "tx":
			return cmd.CommandPath() + " show HASH"
		}
	}
	return "starter deliver show ID, starter task show ID, starter download show ID or starter tx show HASH"
}
