// Package transaction has the commands about purchases of Stars and the wallet that pays for them.
package transaction

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/store"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// Transaction is a purchase of Stars as the API shows it. Amounts are nanoTON.
type Transaction struct {
	Hash                    string                     `json:"hash"`
	Status                  lifecycle.TransactionState `json:"status"`
	AmountNano              int64                      `json:"amount_nano"`
	Sender                  string                     `json:"sender"`
	Username                string                     `json:"username"` // empty: unknown
	Stars                   int64                      `json:"stars"`    // 0: unknown
	QuoteNano               int64                      `json:"quote_nano"`
	Attempt                 int                        `json:"attempt"`
	ErrorMessage            string                     `json:"error_message"`
	ErrorClass              lifecycle.ErrorClass       `json:"error_class"`
	FragmentTransactionHash string                     `json:"fragment_transaction_hash"`
	RefundDueNano           int64                      `json:"refund_due_nano"`
	DustNano                int64                      `json:"dust_nano"`
	NeedsReview             bool                       `json:"needs_review"`
	ReviewReason            string                     `json:"review_reason"`
	RetryAt                 *time.Time                 `json:"retry_at"`    // by the system
	GivenUpAt               *time.Time                 `json:"given_up_at"` // by the system
	Actions                 []string                   `json:"allowed_actions"`
	WorkflowID              string                     `json:"workflow_id"`
	CreatedAt               time.Time                  `json:"created_at"`
	UpdatedAt               time.Time                  `json:"updated_at"`
}

// Overview is a transaction with all that happened to it.
type Overview struct {
	Transaction
	Events   []remote.Event `json:"events"`
	Payments []payment      `json:"payments"`
}

type payment struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	State      string    `json:"state"`
	AmountNano int64     `json:"amount_nano"`
	GasNano    int64     `json:"gas_nano"`
	ChainHash  string    `json:"chain_hash"` // empty: not found on the chain
	ValidUntil time.Time `json:"valid_until"`
	CreatedAt  time.Time `json:"created_at"`
}

// Path names a transaction. People copy hashes in either case.
func Path(hash string) string { return "/v1/transactions/" + url.PathEscape(strings.ToLower(hash)) }

func (t Transaction) Ended() bool {
	return t.Status == lifecycle.TransactionProcessed || t.Status == lifecycle.TransactionFailed
}

// StarsText says what is bought, and for whom.
func (t Transaction) StarsText() string {
	switch {
	case t.Stars > 0 || t.Username != "":
	case t.Status == lifecycle.TransactionPending:
		return "not read yet"
	default:
		return "no order: the comment names nobody"
	}
	return fmt.Sprintf("%s for %s", unlessZero(t.Stars, "? Stars", "%d Stars"), cmp.Or(t.Username, "?"))
}

// remark says what is not as it should be; empty: nothing.
func (t Transaction) remark() string {
	var remarks []string
	if t.ErrorMessage != "" {
		remarks = append(remarks, fmt.Sprintf("%s (%s)", t.ErrorMessage, t.ErrorClass))
	}

	if t.RetryAt != nil {
		remarks = append(remarks, "tried again by itself at "+terminal.When(*t.RetryAt))
	}

	if t.GivenUpAt != nil {
		remarks = append(remarks, "given up: retry it, or end it")
	}

	if t.NeedsReview {
		remarks = append(remarks, "needs review: "+cmp.Or(reviews[t.ReviewReason], t.ReviewReason))
	}

	if t.RefundDueNano > 0 {
		remarks = append(remarks, "owed: "+Ton(t.RefundDueNano))
	}

	if t.DustNano > 0 {
		remarks = append(remarks, "kept, not worth its gas: "+Ton(t.DustNano))
	}
	return strings.Join(remarks, "; ")
}

func Ton(nano int64) string { return money.Nano(nano).String() + " GRAM" }

// unlessZero writes a number, or a text for none.
func unlessZero(n int64, none, format string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf(format, n)
}

func New() *cobra.Command {
	var t remote.Target
	cmd := terminal.Group(&cobra.Command{
		Use: "tx", Short: "Look after purchases of Telegram Stars and the wallet that pays for them (for administrators)",
		Example: "  starter tx list --in-status failed\n  starter tx retry 9f2c… Fragment is back\n  starter tx retry --all --given-up\n  starter tx pause the wallet is being moved",
	},
		newTxList(&t),
		remote.AskAs(t.AsAdmin, "show HASH", "Show one transaction, what happened to it and what was paid for it", terminal.Between(1, 1), func(args []string) (client.Call, error) {
			return client.Call{Method: http.MethodGet, Path: Path(args[0])}, nil
		}, showOverview),
		newTxRetry(&t), newTxResolve(&t), newTxWriteOff(&t), newTxQueue(&t), newTxPause(&t), newTxResume(&t), newTxLedger(&t), newTxReconcile(&t),
	)

	t.AddFlags(cmd)
	return cmd
}

func newTxList(t *remote.Target) *cobra.Command {
	var status, hash string
	var review, stuck, owed, retryable bool
	cmd := remote.ListAs(t.AsAdmin, "list", "List transactions, the newest first", terminal.Between(0, 0),
		func([]string) string { return "/v1/transactions" },
		func() map[string]string {
			filters := map[string]string{"status": strings.ToLower(status), "hash": strings.ToLower(hash)}
			if review {
				filters["needs_review"] = "true"
			}

			if stuck {
				filters["stuck"] = "true"
			}

			if owed {
				filters["owed"] = "true"
			}

			if retryable {
				filters["retryable"] = "true"
			}
			return filters
		}, showTransactions)

	cmd.Flags().StringVar(&status, "in-status", "", "only those in this status: pending, processing, processed or failed")
	cmd.Flags().StringVar(&hash, "hash", "", "only those whose hash begins like this")
	cmd.Flags().BoolVar(&review, "needs-review", false, "only those that an administrator has to resolve")
	cmd.Flags().BoolVar(&owed, "owed", false, "only those whose sender is owed money that is not on its way")
	cmd.Flags().BoolVar(&retryable, "retryable", false, "only failed ones that may be tried again")
	cmd.Flags().BoolVar(&stuck, "stuck", false, "only those that are in processing for too long")
	return cmd
}

func newTxResolve(t *remote.Target) *cobra.Command {
	var key, payment string
	cmd := remote.AskAs(t.AsAdmin, "resolve HASH processed|failed|processing [COMMENT]", "End a transaction that needs review as you have found out; processing: its deposit is right, it goes on", terminal.Between(2, 1000), func(args []string) (client.Call, error) {
		outcome := lifecycle.TransactionState(strings.ToLower(args[1]))
		if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
			return client.Call{}, terminal.UsageError("the outcome is processed, failed or processing, not " + args[1])
		}
		body := map[string]string{"outcome": string(outcome), "comment": strings.Join(args[2:], " ")}
		if payment != "" {
			body["payment"] = payment
		}
		return client.Call{Method: http.MethodPost, Path: Path(args[0]) + "/resolve", Body: body, IdempotencyKey: key}, nil
	}, showTransaction)

	cmd.Flags().StringVar(
		&payment, "payment", "", "after a review for payment_lost: the hash on the chain of the payment that bought it",
	)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

func newTxWriteOff(t *remote.Target) *cobra.Command {
	var key string
	cmd := remote.AskAs(t.AsAdmin, "write-off HASH [COMMENT]", "Give up what is owed to the sender of a failed transaction: it is not paid back", terminal.Between(1, 1000), func(args []string) (client.Call, error) {
		body := map[string]string{"comment": strings.Join(args[1:], " ")}
		return client.Call{
			Method: http.MethodPost, Path: Path(args[0]) + "/write-off", Body: body, IdempotencyKey: key,
		}, nil
	}, showTransaction)
	remote.AddKeyFlag(cmd, &key)
	return cmd
}

// reviews say in words why a transaction needs review.
var reviews = map[string]string{
	store.ReviewNotConfirmed: "paid, and Fragment has not said that the Stars were sent",
	store.ReviewMismatch:     "the chain paid something else than what was signed",
	store.ReviewLate:         "a payment that had passed for dead was paid after all",
	store.ReviewBounced:      "found processed, and the money of its purchase has come back since",
	store.ReviewRefundLimit:  "the refund is above the limit for one: resolve it as failed to allow it, or write it off",
	store.ReviewDisputed:     "a second source does not know the deposit, or tells it otherwise: resolve it as processing when it is right, else as failed",
	store.ReviewLost:         "the chain has a payment that the record does not know: it may have been for this one",
}

func showTransactions(cmd *cobra.Command, transactions []Transaction) error {
	rows := [][]string{{"HASH", "STATUS", "AMOUNT", "STARS", "FOR", "TRIES", "SEEN", "REMARK"}}
	for _, t := range transactions {
		rows = append(rows, []string{
			t.Hash, string(t.Status), Ton(t.AmountNano), unlessZero(t.Stars, "?", "%d"), cmp.Or(t.Username, "?"),
			fmt.Sprint(t.Attempt), terminal.When(t.CreatedAt), t.remark(),
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showTransaction(cmd *cobra.Command, t Transaction) error {
	return terminal.Table(cmd.OutOrStdout(), transactionRows(t))
}

func transactionRows(t Transaction) [][]string {
	rows := [][]string{
		{"transaction", t.Hash},
		{"status", string(t.Status)},
		{"buys", t.StarsText()},
		{"came in", Ton(t.AmountNano)},
		{"from", t.Sender},
		{"priced at", unlessZero(t.QuoteNano, "not yet", "")},
		{"tries", fmt.Sprint(t.Attempt)},
		{"paid by", cmp.Or(t.FragmentTransactionHash, "–")},
		{"remark", cmp.Or(t.remark(), "–")},
		{"you may", cmp.Or(strings.Join(t.Actions, ", "), "–")},
		{"seen", terminal.When(t.CreatedAt)},
		{"changed", terminal.When(t.UpdatedAt)},
		{"workflow", t.WorkflowID},
	}

	if t.QuoteNano > 0 {
		rows[5][1] = Ton(t.QuoteNano)
	}
	return rows
}

func showOverview(cmd *cobra.Command, t Overview) error {
	out := cmd.OutOrStdout()
	rows := transactionRows(t.Transaction)
	for _, p := range t.Payments {
		rows = append(
			rows,
			[]string{
				p.Kind + " " + p.ID,
				fmt.Sprintf(
					"%s, %s and %s of gas, %s", p.State, Ton(p.AmountNano), Ton(p.GasNano),
					cmp.Or(p.ChainHash, "not found on the chain"),
				),
			},
		)
	}

	if err := terminal.Table(out, rows); err != nil {
		return err
	}

	fmt.Fprintln(out)
	return remote.ShowEvents(cmd, t.Events)
}
