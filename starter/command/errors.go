package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
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
		fmt.Fprintf(w, "%s: %s\n", terminal.Printable(no.Code), terminal.Printable(no.Sentence()))
		for _, e := range no.Errors {
			fmt.Fprintf(w, "field: %s: %s\n", terminal.Printable(e.Field), terminal.Printable(e.Message))
		}

		for _, name := range slices.Sorted(maps.Keys(no.Details)) {
			if text := detailText(no.Details[name]); text != "" {
				fmt.Fprintf(w, "detail: %s: %s\n", terminal.Printable(name), terminal.Printable(text))
			}
		}

		if next := nextStep(cmd, no); next != "" {
			fmt.Fprintf(w, "next: %s\n", next)
		}
	default:
		// Errors of dev may quote the last lines of a server's log, each of which keeps its line.
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintln(w, terminal.Printable(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")))
		}
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

// nextStep says what a person can do about a refusal; nothing when the refusal itself says it.
func nextStep(cmd *cobra.Command, r *client.Refusal) string {
	switch fault.Code(r.Code) {
	case fault.Unauthenticated:
		return "give a valid token with --token or STAGECOACH_TOKEN; an administrator makes one with: starter user token ID"
	case fault.InsufficientAccess:
		return "ask whose it is; what is for administrators needs the token of one"
	case fault.InsufficientScope:
		return "use another token, or make one with the scope: starter token create NAME --scope SCOPE"
	case fault.TokenNotFound:
		return "look which there are: starter token list"
	case fault.UserNotActive:
		return "ask an administrator for: starter user approve ID"
	case fault.NoTelegramChat:
		return "let the user send /start to the bot, or ask for the delivery as another user"
	case fault.FileNotFound, fault.FileIsFolder:
		return "look what is there: starter files [PATH]"
	case fault.FileTooBig, fault.FileEmpty:
		return "choose another file: Telegram does not take this one"
	case fault.DeliveryNotFound:
		return "look which there are: starter deliver list"
	case fault.UserNotFound:
		return "look which there are: starter user list"
	case fault.RateLimited:
		return "wait a few seconds and ask again"
	case fault.QuotaExceeded:
		return "end some that you have, or ask an administrator for a higher limit: the settings STAGECOACH_LIMIT_…"
	case fault.InvalidTransition:
		return "look at its state: " + showCommand(cmd)
	case fault.BookNotFound:
		return "look which there are: starter book list, or add it: starter book add TITLE"
	case fault.DownloadNotFound:
		return "look which there are: starter download list"
	case fault.ProviderUnavailable:
		if cmd.Name() == "cancel" { // which is tried until it is confirmed
			return "see how it goes: " + showCommand(cmd)
		}
		return "they are off until the API and the worker get their settings: see docs/download.md"
	case fault.TransactionNotFound:
		return "look which there are: starter tx list"
	case fault.PaymentUndecided:
		return "wait for what the chain says: starter tx show HASH"
	case fault.NotConfigured:
		return "it is off until the worker gets its settings: see docs/transaction.md"
	case fault.TaskNotFound:
		return "look which there are: starter task list"
	case fault.WorkspaceNotFound:
		return "look which there are: starter workspace list"
	case fault.TaskAlreadyClaimed:
		return "choose another one: starter task ready"
	case fault.UnresolvedBlockers:
		return "see what it waits for: starter task dep ID"
	case fault.CannotEscalateOwn:
		return "block it yourself: starter task block ID COMMENT"
	case fault.CannotTakeover:
		return "it is yours, go on with it: starter task status ID IN_PROGRESS COMMENT"
	case fault.CommentRequired:
		return "say why, after the ID"
	}

	if r.Status >= 500 || r.Status == 429 {
		return "try again in a moment; starter status tells administrators more"
	}
	return ""
}

// showCommand is the command that shows what a command was about.
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
