package transaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

var errNotCompared = errors.New(
	"the chain could not be compared: its newest block is not in the record yet; try again in a minute",
)

func newReconcile() *cobra.Command {
	var purchases string
	cmd := remote.Ask[shape.Reconciliation]{
		Admin: true, Use: "reconcile", Short: "Compare the ledger with the record, the chain and Fragment's purchases",
		Long: `Compare the ledger with the record, the chain and Fragment's purchases.

Compares the ledger with the rest of the record, with the wallet's balance on the chain and, with
--purchases, with a list of Fragment's purchases. Read-only. Exit code 0 means that everything was
compared and matches.`,
		Call: "POST /v1/payments/reconcile",
		Body: func([]string) (any, error) {
			if purchases == "" {
				return nil, nil
			}
			sold, err := readPurchases(purchases)
			return map[string]any{"purchases": sold}, err
		},
		Show: showReconciliation, Verdict: Verdict,
	}.Command()

	cmd.Flags().StringVar(
		&purchases, "purchases", "",
		`a file with Fragment's purchases, "-" for standard input: {"items":[{"payment_hash","stars","paid_nano"},…]}`,
	)
	return cmd
}

func readPurchases(name string) ([]shape.Purchase, error) {
	text, err := terminal.ReadText(name)
	if err != nil {
		return nil, err
	}

	var sold shape.Page[shape.Purchase]
	if err := json.Unmarshal(text, &sold); err != nil || sold.Items == nil {
		return nil, terminal.UsageError(name + ` is no list of purchases: {"items":[{"payment_hash":"…", …}, …]}`)
	}
	return sold.Items, nil
}

func showQueue(cmd *cobra.Command, q shape.Queue) error {
	if err := showSwitches(cmd, q.Switches); err != nil {
		return err
	}

	return remote.Rows(func(turn shape.Turn) []string {
		state := "waits"
		switch {
		case turn.GrantedAt != nil:
			state = "has the wallet since " + terminal.When(*turn.GrantedAt)
		case turn.NotBefore != nil:
			state = "above the daily limit, next attempt at " + terminal.When(*turn.NotBefore)
		}
		return []string{
			strconv.Itoa(turn.Place), turn.Hash, turn.Kind, turn.Sender, terminal.When(turn.AskedAt), state,
		}
	}, "PLACE", "TRANSACTION", "KIND", "SENDER", "CREATED", "STATE")(cmd, q.Items)
}

func showSwitches(cmd *cobra.Command, s shape.Switches) error {
	return terminal.Table(cmd.OutOrStdout(), [][]string{{"pause", switchText(s.Pause)}, {"hold", switchText(s.Hold)}})
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
	rows := [][]string{{"wallet", l.Wallet}, {"known up to", terminal.When(shape.Value(l.ScannedTo))}}
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

	return showDifferences(cmd, r.Differences)
}

var showDifferences = remote.Rows(func(d shape.Difference) []string {
	return []string{d.What, d.Subject, strconv.FormatInt(d.Want, 10), strconv.FormatInt(d.Got, 10)}
}, "DIFFERS", "OF", "SHOULD BE", "IS")

// Verdict returns an error unless everything was compared and agrees.
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
