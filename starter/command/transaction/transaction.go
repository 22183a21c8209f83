// Package transaction has the commands about purchases of Stars and the wallet that pays for them.
package transaction

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/store/transaction"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// Path is the path of a transaction in the API. Explorers show hashes in upper or lower case.
func Path(hash string) string { return "/v1/transactions/" + url.PathEscape(strings.ToLower(hash)) }

// StarsText says how many Stars are bought, and for whom.
func StarsText(t shape.Transaction) string {
	switch {
	case t.Stars > 0 || t.Username != nil:
		return starsText(t.Stars, "? Stars", "%d Stars") + " for " + cmp.Or(shape.Value(t.Username), "?")
	case t.Status == lifecycle.TransactionPending:
		return "not read yet"
	default:
		return "no order: the comment names nobody"
	}
}

// starsText writes a number of Stars; none when it is unknown.
func starsText(stars int64, none, format string) string {
	if stars == 0 {
		return none
	}
	return fmt.Sprintf(format, stars)
}

// remark says why a person should look at the transaction; empty: no need.
func remark(t shape.Transaction) string {
	var remarks []string
	if t.ErrorMessage != nil {
		remarks = append(remarks, fmt.Sprintf("%s (%s)", *t.ErrorMessage, shape.Value(t.ErrorClass)))
	}
	if t.RetryAt != nil {
		remarks = append(remarks, "tried again by itself at "+terminal.When(*t.RetryAt))
	}
	if t.GivenUpAt != nil {
		remarks = append(remarks, "given up by the system: retry it, or resolve it")
	}
	if t.NeedsReview {
		reason := shape.Value(t.ReviewReason)
		remarks = append(remarks, "needs review: "+cmp.Or(reviews[reason], reason))
	}
	if t.RefundDueNano > 0 {
		remarks = append(remarks, "owed: "+Ton(t.RefundDueNano))
	}
	if t.DustNano > 0 {
		remarks = append(remarks, "kept, less than the gas to return it: "+Ton(t.DustNano))
	}
	return strings.Join(remarks, "; ")
}

// Ton writes an amount of nanoTON in whole units.
func Ton(nano int64) string { return money.Nano(nano).String() + " GRAM" }

// New makes the group of commands about transactions and payments.
func New() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use:   "tx",
		Short: "Manage purchases of Telegram Stars and the wallet that pays for them (administrators only)",
		Example: "  starter tx list --in-status failed\n  starter tx retry 9f2c… Fragment is back\n" +
			"  starter tx retry --all --given-up\n  starter tx pause the wallet is being moved",
	},
		newList(&t), newShow(&t), newRetry(&t), newResolve(&t), newWriteOff(&t),
		newQueue(&t), newPause(&t), newResume(&t), newLedger(&t), newReconcile(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newList(t *remote.Target) *cobra.Command {
	var status, hash string
	flags := map[string]*bool{}
	cmd := remote.List[shape.Transaction]{
		As: t.AsAdmin, Use: "list", Short: "List transactions, the newest first", Args: terminal.Exactly(0),
		Query: func([]string) (string, map[string]string) {
			filters := map[string]string{"status": strings.ToLower(status), "hash": strings.ToLower(hash)}
			for name, given := range flags {
				if *given {
					filters[name] = "true"
				}
			}
			return "/v1/transactions", filters
		},
		Show: showTransactions,
	}.Command()

	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status: pending, processing, processed or failed")
	cmd.Flags().StringVar(&hash, "hash", "", "only those whose hash begins with this")
	flags["needs_review"] = cmd.Flags().Bool("needs-review", false, "only those that an administrator has to resolve")
	flags["owed"] = cmd.Flags().Bool("owed", false, "only those whose sender is owed money that is not on its way")
	flags["retryable"] = cmd.Flags().Bool("retryable", false, "only failed ones that may be retried")
	flags["stuck"] = cmd.Flags().Bool("stuck", false, "only those that are in processing for too long")
	return cmd
}

func newShow(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.WholeTransaction]{
		As: t.AsAdmin, Use: "show HASH", Short: "Show one transaction with its history and its payments",
		Args: terminal.Exactly(1),
		Call: remote.Get(Path),
		Show: showOverview,
	}.Command()
}

func newResolve(t *remote.Target) *cobra.Command {
	var payment string
	cmd := remote.Ask[shape.Transaction]{
		As: t.AsAdmin, Use: "resolve HASH processed|failed|processing [COMMENT]",
		Short: "Resolve a transaction that needs review; processing: its deposit is right, continue",
		Args:  terminal.AtLeast(2), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			outcome := lifecycle.TransactionState(strings.ToLower(args[1]))
			if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
				return client.Call{}, terminal.UsageError("no outcome " + args[1] + ": give processed, failed or processing")
			}

			body := map[string]string{"outcome": string(outcome), "comment": strings.Join(args[2:], " ")}
			if payment != "" {
				body["payment"] = payment
			}
			return client.Call{Method: http.MethodPost, Path: Path(args[0]) + "/resolve", Body: body}, nil
		},
		Show: showTransaction,
	}.Command()

	cmd.Flags().StringVar(
		&payment, "payment", "", "after a review for payment_lost: the hash on the chain of the payment that bought it",
	)
	return cmd
}

func newWriteOff(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Transaction]{
		As: t.AsAdmin, Use: "write-off HASH [COMMENT]",
		Short: "Write off what is owed to the sender of a failed transaction: it is not paid back",
		Args:  terminal.AtLeast(1), Keyed: true,
		Call: func(args []string) (client.Call, error) {
			body := map[string]string{"comment": strings.Join(args[1:], " ")}
			return client.Call{Method: http.MethodPost, Path: Path(args[0]) + "/write-off", Body: body}, nil
		},
		Show: showTransaction,
	}.Command()
}

// reviews say in words why a transaction needs review.
var reviews = map[string]string{
	transaction.ReviewNotConfirmed: "paid, but Fragment has not confirmed that the Stars were sent",
	transaction.ReviewMismatch:     "the chain has another payment than the signed one",
	transaction.ReviewLate:         "a payment that had expired was paid later",
	transaction.ReviewBounced:      "processed, but the money of its purchase has come back since",
	transaction.ReviewRefundLimit:  "the refund is above the limit: resolve it as failed to allow it, or write it off",
	transaction.ReviewDisputed: "a second source does not confirm the deposit: resolve it as processing when the deposit is right, " +
		"else as failed",
	transaction.ReviewLost: "the chain has a payment that the record does not know: it may have been for this transaction",
}

func showTransactions(cmd *cobra.Command, transactions []shape.Transaction) error {
	rows := [][]string{{"HASH", "STATUS", "AMOUNT", "STARS", "FOR", "TRIES", "SEEN", "REMARK"}}
	for _, t := range transactions {
		rows = append(rows, []string{
			t.Hash, string(t.Status), Ton(t.AmountNano), starsText(t.Stars, "?", "%d"), cmp.Or(shape.Value(t.Username), "?"),
			fmt.Sprint(t.Attempt), terminal.When(t.CreatedAt), remark(t),
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showTransaction(cmd *cobra.Command, t shape.Transaction) error {
	return terminal.Table(cmd.OutOrStdout(), transactionRows(t))
}

func transactionRows(t shape.Transaction) [][]string {
	quote := "not yet"
	if t.QuoteNano > 0 {
		quote = Ton(t.QuoteNano)
	}

	return [][]string{
		{"transaction", t.Hash},
		{"status", string(t.Status)},
		{"buys", StarsText(t)},
		{"amount", Ton(t.AmountNano)},
		{"sender", t.Sender},
		{"quote", quote},
		{"tries", fmt.Sprint(t.Attempt)},
		{"paid by", cmp.Or(shape.Value(t.FragmentTransactionHash), "–")},
		{"remark", cmp.Or(remark(t), "–")},
		{"you may", cmp.Or(terminal.Join(t.AllowedActions), "nothing now")},
		{"seen", terminal.When(t.CreatedAt)},
		{"changed", terminal.When(t.UpdatedAt)},
		{"workflow", t.WorkflowID},
	}
}

func showOverview(cmd *cobra.Command, t shape.WholeTransaction) error {
	rows := transactionRows(t.Transaction)
	for _, p := range t.Payments {
		rows = append(rows, []string{p.Kind + " " + p.ID, fmt.Sprintf(
			"%s, %s and %s of gas, %s",
			p.State, Ton(p.AmountNano), Ton(p.GasNano), cmp.Or(shape.Value(p.ChainHash), "not found on the chain"),
		)})
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return remote.ShowEvents(cmd, t.Events)
}
