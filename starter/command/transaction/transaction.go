// Package transaction has the commands about purchases of Stars and the wallet that pays for them.
package transaction

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/store/transaction"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// StarsText says how many Stars are bought, and for whom.
func StarsText(t shape.Transaction) string {
	switch {
	case t.Stars > 0 || t.Username != nil:
		return starsText(t.Stars, "? Stars", "%d Stars") + " for " + cmp.Or(shape.Value(t.Username), "?")
	case shape.Value(t.ErrorClass) == string(lifecycle.NonRetryable):
		return "no order: the comment names no recipient"
	default:
		return "not read yet"
	}
}

// starsText formats a number of Stars; none if it is unknown.
func starsText(stars int64, none, format string) string {
	if stars == 0 {
		return none
	}
	return fmt.Sprintf(format, stars)
}

// remark says why a person should check the transaction; empty: no need.
func remark(t shape.Transaction) string {
	var remarks []string
	if t.ErrorMessage != nil {
		remarks = append(remarks, fmt.Sprintf("%s (%s)", *t.ErrorMessage, shape.Value(t.ErrorClass)))
	}

	if t.RetryAt != nil {
		remarks = append(remarks, "retried automatically at "+terminal.When(*t.RetryAt))
	}

	if t.GivenUpAt != nil {
		remarks = append(remarks, "no longer retried automatically: retry or resolve it")
	}

	if t.NeedsReview {
		reason := shape.Value(t.ReviewReason)
		remarks = append(remarks, "needs review: "+cmp.Or(reviews[reason], reason))
	}

	if t.RefundDueNano > 0 {
		remarks = append(remarks, "owed: "+Ton(t.RefundDueNano))
	}

	if t.DustNano > 0 {
		remarks = append(remarks, "kept, less than the gas to refund it: "+Ton(t.DustNano))
	}
	return strings.Join(remarks, "; ")
}

// Ton formats an amount of nanoTON in GRAM.
func Ton(nano int64) string { return money.Nano(nano).String() + " GRAM" }

// New makes the group of commands about transactions and payments.
func New() *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use: "tx", SuggestFor: []string{"transaction", "transactions"},
		Short: "Manage purchases of Telegram Stars and the wallet that pays for them (administrators only)",
		Example: "  starter tx list --in-status failed\n  starter tx retry 9f2c… Fragment is back\n" +
			"  starter tx retry --all --given-up\n  starter tx pause the wallet is being moved",
	},
		remote.List[shape.Transaction]{
			Admin: true, Use: "list", Short: "List transactions, newest first",
			Path: "/v1/transactions",
			Filters: []remote.Filter{
				{
					Flag: "in-status", Parameter: "status", Write: strings.ToLower, Values: lifecycle.Transaction.StateNames(),
					About: "filter by status: pending, processing, processed or failed",
				},
				{Flag: "hash", Write: strings.ToLower, About: "filter by the beginning of the hash"},
				{Flag: "needs-review", Value: false, About: "only those that an administrator must resolve"},
				{Flag: "owed", Value: false, About: "only those with a refund due that is not on its way"},
				{Flag: "retryable", Value: false, About: "only failed ones that can be retried"},
				{Flag: "stuck", Value: false, About: "only those in processing for too long"},
			},
			Show: showTransactions,
		}.Command(),
		remote.Ask[shape.WholeTransaction]{
			Admin: true, Use: "show HASH", Short: "Show one transaction with its history and payments",
			Call: "GET /v1/transactions/{}", Show: showOverview,
		}.Command(),
		newRetry(), newResolve(),
		remote.Ask[shape.Transaction]{
			Admin: true, Use: "review HASH [COMMENT…]", Keyed: true,
			Short: "Stop an order in processing until it is resolved",
			Call:  "POST /v1/transactions/{}/review", Text: "comment", Show: showTransaction,
		}.Command(),
		remote.Ask[shape.Transaction]{
			Admin: true, Use: "write-off HASH [COMMENT…]", Keyed: true,
			Short: "Write off the refund of a failed transaction: the sender is not paid back",
			Call:  "POST /v1/transactions/{}/write-off", Text: "comment", Show: showTransaction,
		}.Command(),
		remote.Ask[shape.Queue]{
			Admin: true, Use: "queue", Short: "Show the payments that wait for the wallet, and what stops payments",
			Call:    "GET /v1/payments/queue",
			Filters: []remote.Filter{{Flag: "limit", Value: 50, About: "number of entries, at most 200"}},
			Show:    showQueue,
		}.Command(),
		remote.Ask[shape.Switches]{
			Admin: true, Use: "pause [REASON…]", Short: "Stop new payments; signed ones are still watched on the chain",
			Call: "POST /v1/payments/pause", Text: "reason", Show: showSwitches,
		}.Command(),
		remote.Ask[shape.Switches]{
			Admin: true, Use: "resume", Short: "End the pause, and the hold that the system set",
			Call: "POST /v1/payments/resume", Show: showSwitches,
		}.Command(),
		remote.Ask[shape.Ledger]{
			Admin: true, Use: "ledger", Short: "Show the balance of each account of the ledger",
			Call: "GET /v1/payments/ledger", Show: showLedger,
		}.Command(),
		newReconcile(),
	)
}

// NextSteps advise what to do about a refusal.
var NextSteps = map[fault.Code]string{
	fault.TransactionNotFound: "list them: starter tx list",
	fault.PaymentUndecided:    "wait for the result on the chain: starter tx show HASH",
	fault.NotConfigured:       "this is off until the worker is configured: see docs/transaction.md",
}

// comment is the body of an action on a transaction.
func comment(words []string) map[string]string {
	return map[string]string{"comment": strings.Join(words, " ")}
}

func newResolve() *cobra.Command {
	var payment string
	cmd := remote.Ask[shape.Transaction]{
		Admin: true, Use: "resolve HASH processed|failed|processing [COMMENT…]", Keyed: true,
		Short: "Resolve a transaction that needs review; processing: the deposit is right, continue",
		Call:  "POST /v1/transactions/{}/resolve",
		Body: func(args []string) (any, error) {
			outcome := lifecycle.TransactionState(strings.ToLower(args[1]))
			if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
				return nil, terminal.UsageError("unknown outcome " + args[1] + ": use processed, failed or processing")
			}

			body := comment(args[2:])
			body["outcome"] = string(outcome)
			if payment != "" {
				body["payment"] = payment
			}
			return body, nil
		},
		Show: showTransaction,
	}.Command()

	cmd.Flags().StringVar(
		&payment, "payment", "", "after a payment_lost review: chain hash of the payment for this purchase",
	)
	return cmd
}

// reviews explain why a transaction needs review.
var reviews = map[string]string{
	transaction.ReviewNotConfirmed: "paid, but Fragment has not confirmed that the Stars were sent",
	transaction.ReviewMismatch:     "the payment on the chain differs from the signed one",
	transaction.ReviewLate:         "an expired payment was made after all",
	transaction.ReviewBounced:      "processed, but its payment has bounced since",
	transaction.ReviewRefundLimit:  "the refund is above the limit: resolve it as failed to allow it, or write it off",
	transaction.ReviewDeposit: "the deposit is above the limits for orders without a review: resolve it as processing if the deposit " +
		"is right, otherwise as failed",
	transaction.ReviewLost: "the chain has a payment that is not in the record: it may belong to this transaction",
}

var showTransactions = remote.Rows(func(t shape.Transaction) []string {
	return []string{
		t.Hash, string(t.Status), Ton(t.AmountNano), starsText(t.Stars, "?", "%d"), cmp.Or(shape.Value(t.Username), "?"),
		fmt.Sprint(t.Attempt), terminal.When(t.CreatedAt), remark(t),
	}
}, "HASH", "STATUS", "AMOUNT", "STARS", "FOR", "TRIES", "SEEN", "REMARK")

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
		{"waits for", cmp.Or(shape.Value(t.WaitsFor), "–")},
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
