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
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// switches tell what stops payments; nil: it does not.
type switches struct {
	Pause *paymentSwitch `json:"pause"`
	Hold  *paymentSwitch `json:"hold"`
}

type paymentSwitch struct {
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	RetryAt time.Time `json:"retry_at"`
}

// paymentQueue is who waits for the wallet's turn, the one who has it first.
type paymentQueue struct {
	switches
	Items []struct {
		Place     int       `json:"place"`
		Hash      string    `json:"hash"`
		Kind      string    `json:"kind"`
		Sender    string    `json:"sender"`
		AskedAt   time.Time `json:"asked_at"`
		GrantedAt time.Time `json:"granted_at"` // zero: it waits
		NotBefore time.Time `json:"not_before"` // zero: it fits into the limit of a day, as far as known
	} `json:"items"`
}

type Ledger struct {
	Wallet    string    `json:"wallet"`
	ScannedTo time.Time `json:"scanned_to"`
	Balances  []struct {
		Account     string `json:"account"`
		BalanceNano int64  `json:"balance_nano"`
	} `json:"balances"`
}

// Reconciliation is what a comparison of the ledger with the rest of the world has found.
type Reconciliation struct {
	Ledger
	ChainCompared     bool `json:"chain_compared"`
	PurchasesCompared int  `json:"purchases_compared"`
	Differences       []struct {
		What    string `json:"what"`
		Subject string `json:"subject"`
		Want    int64  `json:"want"`
		Got     int64  `json:"got"`
	} `json:"differences"`
}

// errDiffers ends a reconciliation that has shown what does not agree.
type errDiffers struct{ count int }

func (e errDiffers) Error() string { return fmt.Sprintf("differences: %d", e.count) }

var errNotCompared = errors.New(
	"the chain could not be compared: the record is not up to its head at this moment; try again",
)

func newTxQueue(t *remote.Target) *cobra.Command {
	limit := 50
	cmd := remote.AskAs(t.AsAdmin, "queue", "Show who waits for the wallet's turn, and what stops payments", terminal.Between(0, 0), func([]string) (client.Call, error) {
		return client.Call{
			Method: http.MethodGet, Path: "/v1/payments/queue", Query: url.Values{"limit": {strconv.Itoa(limit)}},
		}, nil
	}, func(cmd *cobra.Command, q paymentQueue) error {
		if err := showSwitches(cmd, q.switches); err != nil {
			return err
		}

		rows := [][]string{{"PLACE", "TRANSACTION", "KIND", "SENDER", "ASKED", "TURN"}}
		for _, turn := range q.Items {
			has := "waits"
			switch {
			case !turn.GrantedAt.IsZero():
				has = "since " + terminal.When(turn.GrantedAt)
			case !turn.NotBefore.IsZero():
				has = "no room today, tries at " + terminal.When(turn.NotBefore)
			}
			rows = append(
				rows, []string{strconv.Itoa(turn.Place), turn.Hash, turn.Kind, turn.Sender, terminal.When(turn.AskedAt), has},
			)
		}

		return terminal.Table(cmd.OutOrStdout(), rows)
	})

	cmd.Flags().IntVar(&limit, "limit", limit, "how many to show, at most 200")
	return cmd
}

func newTxPause(t *remote.Target) *cobra.Command {
	return remote.AskAs(t.AsAdmin, "pause [REASON]", "Stop all payments; what is signed already goes on being proven", terminal.Between(0, 1000), func(args []string) (client.Call, error) {
		return client.Call{
			Method: http.MethodPost, Path: "/v1/payments/pause", Body: map[string]string{"reason": strings.Join(args, " ")},
		}, nil
	}, showSwitches)
}

func newTxResume(t *remote.Target) *cobra.Command {
	return remote.AskAs(t.AsAdmin, "resume", "End a pause, and a hold of the program's own besides", terminal.Between(0, 0), func([]string) (client.Call, error) {
		return client.Call{Method: http.MethodPost, Path: "/v1/payments/resume"}, nil
	}, showSwitches)
}

func newTxLedger(t *remote.Target) *cobra.Command {
	return remote.AskAs(t.AsAdmin, "ledger", "Show where the money is, and where it came from", terminal.Between(0, 0), func([]string) (client.Call, error) {
		return client.Call{Method: http.MethodGet, Path: "/v1/payments/ledger"}, nil
	}, showLedger)
}

func newTxReconcile(t *remote.Target) *cobra.Command {
	var purchases string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Compare the ledger with the record, the chain and Fragment's purchases",
		Args: terminal.Between(0, 0),
		Long: `Compare the ledger with the rest of the record, with the wallet's balance on the chain and, when
a list of them is given, with Fragment's purchases. It changes nothing. Exit code 0 means: all
was compared, and there is no difference.`,
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

			r, err := client.Decode[Reconciliation](answer)
			if err != nil {
				return err
			}

			show := func() error { return showReconciliation(cmd, r) }
			if asJSON {
				show = func() error { return terminal.Verbatim(cmd.OutOrStdout(), answer) }
			}
			return errors.Join(show(), r.Verdict())
		},
	}

	cmd.Flags().StringVar(
		&purchases, "purchases", "",
		`a file with Fragment's purchases, "-" for the standard input: {"items":[{"payment_hash","stars","paid_nano"},…]}`,
	)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

// purchase is one line of Fragment's list.
type purchase struct {
	PaymentHash string `json:"payment_hash"`
	Stars       int64  `json:"stars"`
	PaidNano    int64  `json:"paid_nano"`
}

func readPurchases(name string) ([]purchase, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(os.Stdin)
	} else {
		data, err = os.ReadFile(name)
	}

	if err != nil {
		return nil, terminal.UsageError(err.Error())
	}

	var sold client.Page[purchase]
	if err := json.Unmarshal(data, &sold); err != nil || sold.Items == nil {
		return nil, terminal.UsageError(name + " is not a list of purchases")
	}
	return sold.Items, nil
}

func showSwitches(cmd *cobra.Command, s switches) error {
	hold := switchText(s.Hold, "off")
	if s.Hold != nil && !s.Hold.RetryAt.IsZero() {
		hold += ", one purchase tries after " + terminal.When(s.Hold.RetryAt)
	}
	return terminal.Table(cmd.OutOrStdout(), [][]string{{"pause", switchText(s.Pause, "off")}, {"hold", hold}})
}

func switchText(s *paymentSwitch, off string) string {
	if s == nil {
		return off
	}
	return strings.TrimSuffix(fmt.Sprintf("since %s: %s", terminal.When(s.Since), s.Reason), ": ")
}

func showLedger(cmd *cobra.Command, l Ledger) error {
	rows := [][]string{{"wallet", l.Wallet}, {"known up to", terminal.When(l.ScannedTo)}}
	for _, b := range l.Balances {
		rows = append(rows, []string{b.Account, Ton(b.BalanceNano), accounts[b.Account]})
	}
	return terminal.Table(cmd.OutOrStdout(), rows)
}

// accounts say in words what stands on each account. All of them together are zero at every moment.
var accounts = map[string]string{
	"wallet":     "what the wallet holds",
	"received":   "negative: what customers sent, less what is reserved or owed",
	"reserved":   "negative: set aside for payments that are signed",
	"refund_due": "negative: owed to senders",
	"paid":       "gone to Fragment",
	"gas":        "gone in fees",
	"refunded":   "given back to senders",
	"returning":  "on its way back: payments that bounced",
	"other":      "negative: came in for no order; positive: went out for none",
}

func showReconciliation(cmd *cobra.Command, r Reconciliation) error {
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

// Verdict is an error unless all was compared and nothing differs.
func (r Reconciliation) Verdict() error {
	switch {
	case len(r.Differences) > 0:
		return errDiffers{len(r.Differences)}
	case !r.ChainCompared:
		return errNotCompared
	default:
		return nil
	}
}
