package transaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/stars"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// bulkRetry retries all failed transactions that match its filters, or lists them.
type bulkRetry struct {
	all, givenUp, yes bool
	failure           string
	olderThan, since  time.Duration
	limit             int
	comment           map[string]string
}

func newRetry() *cobra.Command {
	var bulk bulkRetry
	cmd := remote.Ask[shape.Transaction]{
		Admin: true, Use: "retry HASH [COMMENT…] | --all [COMMENT…]", Keyed: true,
		Short: "Retry a failed transaction, or all of them",
		Long: `Retry a failed transaction, or all of them.

--all only lists the transactions that it would retry; add --yes to retry them. Transactions that
an operator has ended are left out, unless --failure names their message.`,
		Call: retryCall, Text: "comment", Show: showTransaction,
	}.Command()

	retryOne := cmd.RunE
	cmd.Args = bulk.check
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !bulk.all {
			return retryOne(cmd, args)
		}

		c, err := remote.Client(cmd, true)
		if err != nil {
			return err
		}
		bulk.comment = comment(args)
		return bulk.run(cmd, c)
	}

	flags := cmd.Flags()
	flags.BoolVar(&bulk.all, "all", false, "all retryable transactions, narrowed by the flags below")
	flags.BoolVar(&bulk.givenUp, "given-up", false, "with --all: only those that are no longer retried automatically")
	flags.StringVar(&bulk.failure, "failure", "", "with --all: only those that failed with this message")
	flags.DurationVar(&bulk.olderThan, "older-than", 0, "with --all: only those received longer ago than this")
	flags.DurationVar(&bulk.since, "since", 0, "with --all: only those received within this time")
	flags.IntVar(&bulk.limit, "limit", 100, "with --all: at most this many, the newest")
	flags.BoolVar(&bulk.yes, "yes", false, "with --all: retry them")
	return cmd
}

const retryCall = "POST /v1/transactions/{}/retry"

// check refuses mutually exclusive flags and arguments.
func (r *bulkRetry) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	narrowed := slices.ContainsFunc([]string{"given-up", "failure", "older-than", "since", "limit", "yes"}, given)
	switch {
	case !r.all && (len(args) == 0 || narrowed):
		return terminal.UsageError("give the hash of one transaction, or --all: " + cmd.UseLine())
	case r.all && (given("idempotency-key") || r.limit < 1 || r.olderThan < 0 || r.since < 0):
		return terminal.UsageError("--all does not take --idempotency-key, a --limit below 1 or negative times")
	default:
		return nil
	}
}

// query returns the filters that the API supports.
func (r *bulkRetry) query(now time.Time) url.Values {
	query := url.Values{"retryable": {"true"}}
	if r.failure != "" {
		query.Set("error", r.failure)
	}

	if r.olderThan > 0 {
		query.Set("seen_until", now.Add(-r.olderThan).UTC().Format(time.RFC3339))
	}

	if r.since > 0 {
		query.Set("seen_from", now.Add(-r.since).UTC().Format(time.RFC3339))
	}
	return query
}

// retried is the result for one transaction.
type retried struct {
	Hash    string     `json:"hash"`
	Outcome string     `json:"outcome"` // would_retry, retried, or refused
	Code    fault.Code `json:"code,omitempty"`
	Remark  string     `json:"remark"` // why it failed, or was refused
}

// run retries the chosen transactions one after the other, or lists them. It continues after a refusal: another person,
// or the system, was faster.
func (r *bulkRetry) run(cmd *cobra.Command, c *client.Client) error {
	var chosen []shape.Transaction
	err := client.EachItem(cmd.Context(), c, "/v1/transactions", r.query(time.Now()), func(t shape.Transaction) bool {
		// The API does not support these filters.
		taken := !t.NeedsReview && (!r.givenUp || t.GivenUpAt != nil)
		if taken && (r.failure != "" || !stars.Named(shape.Value(t.ErrorMessage)).ByOperator) {
			chosen = append(chosen, t)
		}
		return len(chosen) == r.limit
	})
	if err != nil {
		return err
	}

	done := []retried{}
	for _, t := range chosen {
		one := retried{Hash: t.Hash, Outcome: "would_retry", Remark: remark(t)}
		if r.yes {
			if one, err = r.retry(cmd, c, t); err != nil {
				break
			}
		}
		done = append(done, one)
	}

	return errors.Join(r.show(cmd, done), err)
}

// retry retries one transaction. Its error means that the API would refuse the others as well, or is unreachable.
func (r *bulkRetry) retry(cmd *cobra.Command, c *client.Client, t shape.Transaction) (retried, error) {
	call := remote.Call(retryCall, t.Hash)
	call.Body = r.comment
	_, _, err := c.Send(cmd.Context(), call)
	no, refused := errors.AsType[*client.Refusal](err)

	switch {
	case err == nil:
		return retried{Hash: t.Hash, Outcome: "retried", Remark: remark(t)}, nil
	case refused && (no.Code == fault.InvalidTransition || no.Code == fault.PaymentUndecided):
		return retried{Hash: t.Hash, Outcome: "refused", Code: no.Code, Remark: no.Sentence()}, nil
	default:
		return retried{}, err
	}
}

func (r *bulkRetry) show(cmd *cobra.Command, done []retried) error {
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		document, err := json.Marshal(map[string]any{"items": done})
		if err != nil {
			return err
		}
		return terminal.Verbatim(out, document)
	}

	rows := terminal.Rows(done, func(one retried) []string {
		return []string{one.Hash, one.Outcome, one.Remark}
	}, "HASH", "OUTCOME", "REMARK")
	if err := terminal.Table(out, rows); err != nil {
		return err
	}

	if !r.yes && len(done) > 0 {
		fmt.Fprintf(out, "dry run: add --yes to retry these %d\n", len(done))
	}
	return nil
}
