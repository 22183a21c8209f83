package transaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

var errNotCompared = errors.New(
	"the chain could not be compared: the record does not have its newest block yet; try again in a minute",
)

func newQueue(t *remote.Target) *cobra.Command {
	limit := 50
	cmd := remote.Ask[shape.Queue]{
		As: t.AsAdmin, Use: "queue", Short: "Show the payments that wait for the wallet, and what stops payments",
		Args: terminal.Exactly(0),
		Call: func([]string) (client.Call, error) {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			return client.Call{Method: http.MethodGet, Path: "/v1/payments/queue", Query: query}, nil
		},
		Show: showQueue,
	}.Command()

	cmd.Flags().IntVar(&limit, "limit", limit, "how many to show, at most 200")
	return cmd
}

func newPause(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Switches]{
		As: t.AsAdmin, Use: "pause [REASON]", Short: "Stop new payments; signed ones are still watched on the chain",
		Args: terminal.AtLeast(0),
		Call: func(args []string) (client.Call, error) {
			body := map[string]string{"reason": strings.Join(args, " ")}
			return client.Call{Method: http.MethodPost, Path: "/v1/payments/pause", Body: body}, nil
		},
		Show: showSwitches,
	}.Command()
}

func newResume(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Switches]{
		As: t.AsAdmin, Use: "resume", Short: "End the pause, and the hold that the system set", Args: terminal.Exactly(0),
		Call: func([]string) (client.Call, error) {
			return client.Call{Method: http.MethodPost, Path: "/v1/payments/resume"}, nil
		},
		Show: showSwitches,
	}.Command()
}

func newLedger(t *remote.Target) *cobra.Command {
	return remote.Ask[shape.Ledger]{
		As: t.AsAdmin, Use: "ledger", Short: "Show the balance of each account of the ledger", Args: terminal.Exactly(0),
		Call: func([]string) (client.Call, error) {
			return client.Call{Method: http.MethodGet, Path: "/v1/payments/ledger"}, nil
		},
		Show: showLedger,
	}.Command()
}

func newReconcile(t *remote.Target) *cobra.Command {
	var purchases string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Compare the ledger with the record, the chain and Fragment's purchases",
		Args: terminal.Exactly(0),
		Long: `Compare the ledger with the record, the chain and Fragment's purchases.

The command compares the ledger with the rest of the record, with the wallet's balance on the
chain and, with --purchases, with a list of Fragment's purchases. It changes nothing. Exit code 0
means that all of them were compared and agree.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.AsAdmin()
			if err != nil {
				return err
			}

			request := client.Call{Method: http.MethodPost, Path: "/v1/payments/reconcile"}
			if purchases != "" {
				sold, err := readPurchases(purchases)
				if err != nil {
					return err
				}
				request.Body = map[string]any{"purchases": sold}
			}

			answer, _, err := c.Send(cmd.Context(), request)
			if err != nil {
				return err
			}
			r, err := client.Decode[shape.Reconciliation](answer)
			if err != nil {
				return err
			}

			if asJSON {
				err = terminal.Verbatim(cmd.OutOrStdout(), answer)
			} else {
				err = showReconciliation(cmd, r)
			}
			return errors.Join(err, Verdict(r))
		},
	}

	cmd.Flags().StringVar(
		&purchases, "purchases", "",
		`a file with Fragment's purchases, "-" for the standard input: {"items":[{"payment_hash","stars","paid_nano"},…]}`,
	)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

func readPurchases(name string) ([]shape.Purchase, error) {
	data, err := readInput(name)
	if err != nil {
		return nil, terminal.UsageError(err.Error())
	}

	var sold shape.Page[shape.Purchase]
	if err := json.Unmarshal(data, &sold); err != nil || sold.Items == nil {
		return nil, terminal.UsageError(name + ` is no list of purchases: {"items":[{"payment_hash":"…", …}, …]}`)
	}
	return sold.Items, nil
}

// readInput reads a file, or the standard input when its name is "-".
func readInput(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

func showQueue(cmd *cobra.Command, q shape.Queue) error {
	if err := showSwitches(cmd, q.Switches); err != nil {
		return err
	}

	rows := [][]string{{"PLACE", "TRANSACTION", "KIND", "SENDER", "CREATED", "STATE"}}
	for _, turn := range q.Items {
		state := "waits"
		switch {
		case turn.GrantedAt != nil:
			state = "has the wallet since " + terminal.When(*turn.GrantedAt)
		case turn.NotBefore != nil:
			state = "above the limit of a day, tries at " + terminal.When(*turn.NotBefore)
		}
		rows = append(rows, []string{
			strconv.Itoa(turn.Place), turn.Hash, turn.Kind, turn.Sender, terminal.When(turn.AskedAt), state,
		})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

func showSwitches(cmd *cobra.Command, s shape.Switches) error {
	hold := switchText(s.Hold)
	if s.Hold != nil && s.Hold.RetryAt != nil {
		hold += ", one purchase tries after " + terminal.When(*s.Hold.RetryAt)
	}
	return terminal.Table(cmd.OutOrStdout(), [][]string{{"pause", switchText(s.Pause)}, {"hold", hold}})
}

func switchText(s *shape.Switch) string {
	switch {
	case s == nil:
		return "off"
	case s.Reason == "":
		return "since " + terminal.When(s.Since)
	default:
		return fmt.Sprintf("since %s: %s", terminal.When(s.Since), s.Reason)
	}
}

func showLedger(cmd *cobra.Command, l shape.Ledger) error {
	rows := [][]string{{"wallet", l.Wallet}, {"known up to", terminal.Whenever(l.ScannedTo)}}
	for _, b := range l.Balances {
		rows = append(rows, []string{b.Account, Ton(b.BalanceNano), accounts[b.Account]})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

// accounts describe the accounts of the ledger. The sum of their balances is always zero.
var accounts = map[string]string{
	"wallet":     "what the wallet holds",
	"received":   "negative: what customers sent, less what is reserved or owed",
	"reserved":   "negative: reserved for signed payments",
	"refund_due": "negative: owed to senders",
	"paid":       "paid to Fragment",
	"gas":        "paid in fees",
	"refunded":   "paid back to senders",
	"returning":  "payments that bounced and are on their way back",
	"other":      "negative: came in without an order; positive: went out without an order",
}

func showReconciliation(cmd *cobra.Command, r shape.Reconciliation) error {
	if err := showLedger(cmd, r.Ledger); err != nil {
		return err
	}

	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "\npurchases compared with Fragment: %d\n", r.PurchasesCompared)
	if len(r.Differences) == 0 {
		fmt.Fprintln(out, "no differences")
		return nil
	}

	rows := [][]string{{"DIFFERS", "OF", "SHOULD BE", "IS"}}
	for _, d := range r.Differences {
		rows = append(rows, []string{d.What, d.Subject, strconv.FormatInt(d.Want, 10), strconv.FormatInt(d.Got, 10)})
	}
	return terminal.Table(out, rows)
}

// Verdict is an error unless everything was compared and agrees.
func Verdict(r shape.Reconciliation) error {
	switch {
	case len(r.Differences) > 0:
		return fmt.Errorf("differences: %d", len(r.Differences))
	case !r.ChainCompared:
		return errNotCompared
	default:
		return nil
	}
}
