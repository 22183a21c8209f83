package transaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/fault"
	"stagecoach/internal/stars"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// txRetries are the transactions that tx retry --all chooses, and whether it really retries them.
type txRetries struct {
	all, givenUp, yes bool
	failure           string
	olderThan, since  time.Duration
	limit             int
	comment           string
}

func newTxRetry(t *remote.Target) *cobra.Command {
	var key string
	var chosen txRetries
	cmd := remote.AskAs(t.AsAdmin, "retry HASH [COMMENT]", "Try again to buy the Stars of a failed transaction, or of all of them", terminal.Between(0, 1000), func(args []string) (client.Call, error) {
		body := map[string]string{"comment": strings.Join(args[1:], " ")}
		return client.Call{Method: http.MethodPost, Path: Path(args[0]) + "/retry", Body: body, IdempotencyKey: key}, nil
	}, showTransaction)

	retryOne := cmd.RunE
	cmd.Use = "retry HASH [COMMENT] | --all [COMMENT]"
	cmd.Long = cmd.Short + ".\n\nWith --all it shows what it would do; --yes does it. Those that an operator has ended are left out, unless --failure names their message."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		narrowed := []string{"given-up", "failure", "older-than", "since", "limit", "yes"}
		switch {
		case !chosen.all && (len(args) == 0 || slices.ContainsFunc(narrowed, cmd.Flags().Changed)):
			return terminal.UsageError("name one transaction by its hash, or all with --all: " + cmd.UseLine())
		case !chosen.all:
			return retryOne(cmd, args)
		case key != "" || chosen.limit < 1 || chosen.olderThan < 0 || chosen.since < 0:
			return terminal.UsageError("--all takes no --idempotency-key, a --limit above 0 and no negative times")
		}

		c, err := t.AsAdmin()
		if err != nil {
			return err
		}

		chosen.comment = strings.Join(args, " ")
		return chosen.run(cmd, c)
	}

	remote.AddKeyFlag(cmd, &key)
	cmd.Flags().BoolVar(&chosen.all, "all", false, "all that may be tried again, narrowed by the flags below")
	cmd.Flags().BoolVar(
		&chosen.givenUp, "given-up", false, "with --all: only those that the system does not try again by itself any more",
	)
	cmd.Flags().StringVar(&chosen.failure, "failure", "", "with --all: only those that have failed with this message")
	cmd.Flags().DurationVar(&chosen.olderThan, "older-than", 0, "with --all: only those that came in longer ago")
	cmd.Flags().DurationVar(&chosen.since, "since", 0, "with --all: only those that came in within this time")
	cmd.Flags().IntVar(&chosen.limit, "limit", 100, "with --all: at most so many, the newest")
	cmd.Flags().BoolVar(&chosen.yes, "yes", false, "with --all: really retry them")
	return cmd
}

// query gives the filters for the API.
func (r txRetries) query(now time.Time) url.Values {
	query := url.Values{"retryable": {"true"}}
	remote.SetUnlessEmpty(query, map[string]string{"error": r.failure})
	if r.olderThan > 0 {
		query.Set("seen_until", now.Add(-r.olderThan).UTC().Format(time.RFC3339))
	}
	if r.since > 0 {
		query.Set("seen_from", now.Add(-r.since).UTC().Format(time.RFC3339))
	}
	return query
}

// takes says whether a transaction that may be tried again is among those that were chosen.
func (r txRetries) takes(t Transaction) bool {
	switch {
	case t.NeedsReview, r.givenUp && t.GivenUpAt == nil:
		return false
	default:
		return r.failure != "" || !stars.Named(t.ErrorMessage).ByOperator
	}
}

// txRetried is what has become of one of them.
type txRetried struct {
	Hash    string     `json:"hash"`
	Outcome string     `json:"outcome"` // would_retry, retried, or refused
	Code    fault.Code `json:"code,omitempty"`
	Remark  string     `json:"remark"` // why it failed, or was refused
}

// run retries what was chosen, one after the other, or shows it. A refusal stops none of the others: another person, or
// the system, was faster.
func (r txRetries) run(cmd *cobra.Command, c *client.Client) error {
	var found []Transaction
	err := client.EachItem(cmd.Context(), c, "/v1/transactions", r.query(time.Now()), func(t Transaction) bool {
		if r.takes(t) {
			found = append(found, t)
		}
		return len(found) == r.limit
	})
	if err != nil {
		return err
	}

	done := []txRetried{}
	for _, t := range found {
		one := txRetried{Hash: t.Hash, Outcome: "would_retry", Remark: t.remark()}
		if r.yes {
			if one, err = r.retry(cmd, c, t); err != nil {
				break
			}
		}
		done = append(done, one)
	}

	return errors.Join(r.show(cmd, done), err)
}

// retry retries one. Its error is of an API that cannot be reached, or will refuse the others as well.
func (r txRetries) retry(cmd *cobra.Command, c *client.Client, t Transaction) (txRetried, error) {
	request := client.Call{
		Method: http.MethodPost, Path: Path(t.Hash) + "/retry", Body: map[string]string{"comment": r.comment},
	}

	_, _, err := c.Send(cmd.Context(), request)
	no, refused := errors.AsType[*client.Refusal](err)
	switch {
	case err == nil:
		return txRetried{Hash: t.Hash, Outcome: "retried", Remark: t.remark()}, nil
	case refused && (no.Code == string(fault.InvalidTransition) || no.Code == string(fault.PaymentUndecided)):
		return txRetried{Hash: t.Hash, Outcome: "refused", Code: fault.Code(no.Code), Remark: no.Sentence()}, nil
	default:
		return txRetried{}, err
	}
}

func (r txRetries) show(cmd *cobra.Command, done []txRetried) error {
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		document, err := json.Marshal(map[string]any{"items": done})
		if err != nil {
			return err
		}
		return terminal.Verbatim(out, document)
	}

	rows := [][]string{{"HASH", "OUTCOME", "REMARK"}}
	for _, one := range done {
		rows = append(rows, []string{one.Hash, one.Outcome, one.Remark})
	}

	if err := terminal.Table(out, rows); err != nil {
		return err
	}

	if !r.yes && len(done) > 0 {
		fmt.Fprintf(out, "nothing was retried: --yes retries these %d\n", len(done))
	}
	return nil
}
