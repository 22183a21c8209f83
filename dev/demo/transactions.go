package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/starter/command/transaction"
	"stagecoach/starter/terminal"
)

const (
	customersPatience = 2 * time.Minute // for each purchase
	shopEvery         = 200 * time.Millisecond

	goneUsername = "nobody_has_this" // of nobody
	shyUsername  = "shy_reader"      // cannot be gifted Stars initially
)

// customer pays for Stars. Each has its own sender address, by which a later run finds its payments.
type customer struct {
	name, comment string
	nano          int64
	ends          string // the failure with which the purchase must end, as in the table of failures; empty: it succeeds
	retried       bool   // after an administrator retried it
}

var demoCustomers = []customer{
	{name: "a reader", comment: stack.DemoUsername + " 50", nano: 600_000_000},
	{name: "a hasty one", comment: goneUsername, nano: 500_000_000, ends: stars.UsernameNotFound.Message},
	{name: "a patient one", comment: shyUsername, nano: 700_000_000, retried: true},
}

func (c customer) address() string {
	id := sha256.Sum256([]byte("customer of the demo: " + c.name))
	return "0:" + hex.EncodeToString(id[:])
}

// customers is the demo of transactions: three people send TON to the wallet, one after the other. One purchase
// succeeds, one names a user who does not exist, and one fails first and succeeds when it is retried.
type customers struct {
	stack *stack.Stack
	api   *client.Client // of an administrator
	over  bool
	seen  int // events of the current purchase that were printed
}

func newCustomers(s *stack.Stack) *customers {
	return &customers{stack: s, api: &client.Client{Base: s.Info.API, Token: s.Info.AdminToken}}
}

// round implements demo. The first round shows everything.
func (d *customers) round(ctx context.Context) ([]result, error) {
	if d.over {
		return nil, nil
	}

	d.over = true
	defer d.stack.Screen.Draw()

	known, err := d.known(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.stack.Fragment.SetUser(goneUsername, "unknown"); err != nil {
		return nil, err
	}

	var results []result
	for _, c := range demoCustomers {
		t, err := d.serve(ctx, c, known[c.address()])
		if err != nil {
			return nil, err
		}

		r := result{
			job: fmt.Sprintf("transaction %.8s", t.Hash), name: transaction.StarsText(t.Transaction), state: string(t.Status),
			took:     t.UpdatedAt.Sub(t.CreatedAt),
			workflow: t.WorkflowID, earlier: t.Ended() && t.UpdatedAt.Before(d.stack.Began),
		}
		if r.problem, err = d.judge(ctx, c, t); err != nil {
			return nil, err
		}

		results = append(results, r)
	}

	problem, err := d.reconcile(ctx)
	if err == nil && problem != "" {
		results = append(results, result{job: "ledger", name: "all purchases", state: "–", problem: problem})
	}
	return results, err
}

// known returns the existing purchases by sender, once the chain's history is complete.
func (d *customers) known(ctx context.Context) (map[string]shape.WholeTransaction, error) {
	began := time.Now()
	err := d.until(ctx, func() (bool, error) {
		now, err := client.Ask[shape.Ledger](ctx, d.api, client.Call{Method: http.MethodGet, Path: "/v1/payments/ledger"})
		return shape.Value(now.ScannedTo).After(began), err
	})

	known := map[string]shape.WholeTransaction{}
	if err == nil {
		err = client.EachItem(ctx, d.api, "/v1/transactions", url.Values{}, func(t shape.Transaction) bool {
			known[t.Sender] = shape.WholeTransaction{Transaction: t} // the oldest stays, because it comes last
			return false
		})
	}

	return known, err
}

// serve has a customer pay, unless an earlier run has done so, and shows the purchase.
func (d *customers) serve(
	ctx context.Context, c customer, t shape.WholeTransaction,
) (shape.WholeTransaction, error) {
	d.seen = 0
	if t.Hash == "" {
		if c.retried {
			if err := d.stack.Fragment.SetUser(shyUsername, "not_giftable"); err != nil {
				return t, err
			}
		}

		hash, err := d.stack.Chain.Deposit(tonsim.Deposit{From: c.address(), AmountNano: c.nano, Comment: c.comment})
		if err != nil {
			return t, err
		}

		t.Hash = hash
		d.stack.Screen.Say("  transaction %.8s  %-10s  %s sends %s", hash, "deposit", c.name, transaction.Ton(c.nano))
	}

	t, err := d.follow(ctx, t)
	if err != nil || t.Status != lifecycle.TransactionFailed || !c.retried {
		return t, err
	}
	if err := d.stack.Fragment.SetUser(shyUsername, "user"); err != nil {
		return t, err
	}

	retry := client.Call{
		Method: http.MethodPost, Path: "/v1/transactions/" + t.Hash + "/retry",
		Body: map[string]string{"comment": "it can be gifted Stars now"},
	}
	if _, err := client.Ask[shape.Transaction](ctx, d.api, retry); err != nil {
		return t, err
	}

	return d.follow(ctx, t)
}

// follow prints what happens to a purchase until it has ended or the time is up, and returns its final state.
func (d *customers) follow(ctx context.Context, t shape.WholeTransaction) (shape.WholeTransaction, error) {
	err := d.until(ctx, func() (bool, error) {
		now, err := client.Ask[shape.WholeTransaction](
			ctx, d.api, client.Call{Method: http.MethodGet, Path: "/v1/transactions/" + t.Hash},
		)
		if no, refused := errors.AsType[*client.Refusal](err); refused && no.Status == http.StatusNotFound {
			return false, nil // the transfer has not been read yet
		}
		if err != nil {
			return false, err
		}

		for _, e := range now.Events[min(d.seen, len(now.Events)):] {
			d.tell(now.Transaction, e)
		}

		t, d.seen = now, len(now.Events)
		return t.Ended(), nil
	})
	if errors.Is(err, errPatience) {
		err = nil // the status shows that it has not ended
	}

	return t, err
}

// tell prints a line for each new status and for the payment.
func (d *customers) tell(t shape.Transaction, e shape.History) {
	if e.CreatedAt.Before(d.stack.Began) {
		return
	}

	switch what := changeOf(e); {
	case what == "":
	case e.Comment != "":
		d.stack.Screen.Say(
			"  transaction %.8s  %-10s  %s: %s", t.Hash, what, transaction.StarsText(t), terminal.Printable(e.Comment),
		)
	default:
		d.stack.Screen.Say("  transaction %.8s  %-10s  %s", t.Hash, what, transaction.StarsText(t))
	}
}

// changeOf names what an event has changed; empty: nothing to show.
func changeOf(e shape.History) string {
	switch {
	case e.From != e.To:
		return e.To
	case e.Type == lifecycle.TransactionSigned:
		return "paying"
	case e.Type == lifecycle.TransactionPaid:
		return "paid"
	default:
		return ""
	}
}

// judge returns why a purchase is not as expected; empty: it is.
func (d *customers) judge(ctx context.Context, c customer, t shape.WholeTransaction) (problem string, err error) {
	tells := fmt.Sprintf(": see starter tx show %s", t.Hash)
	bought, _, err := d.stack.Fragment.Purchases(ctx)
	if err != nil {
		return "", err
	}

	times := 0
	for _, p := range bought {
		if t.FragmentTransactionHash != nil && p.Hash == *t.FragmentTransactionHash &&
			p.Stars == t.Stars && p.Username == shape.Value(t.Username) {
			times++
		}
	}

	retried := slices.ContainsFunc(
		t.Events, func(e shape.History) bool { return e.Type == lifecycle.TransactionRetried },
	)

	switch {
	case c.ends != "" && (t.Status != lifecycle.TransactionFailed || shape.Value(t.ErrorMessage) != c.ends || shape.Value(t.ErrorClass) != string(lifecycle.NonRetryable) || len(t.Payments) > 0):
		return fmt.Sprintf("it should have failed with %q, for good and without a payment%s", c.ends, tells), nil
	case c.ends == "" && t.Status != lifecycle.TransactionProcessed:
		return "it is not processed" + tells, nil
	case c.ends == "" && times != 1:
		return fmt.Sprintf("Fragment sold these Stars %d times%s", times, tells), nil
	case c.retried && !retried:
		return "it should have failed and been retried" + tells, nil
	default:
		return "", nil
	}
}

// reconcile compares the ledger with the chain and returns the differences; empty: none.
func (d *customers) reconcile(ctx context.Context) (problem string, err error) {
	var last shape.Reconciliation
	err = d.until(ctx, func() (bool, error) {
		last, err = client.Ask[shape.Reconciliation](
			ctx, d.api, client.Call{Method: http.MethodPost, Path: "/v1/payments/reconcile"},
		)
		return last.ChainCompared || len(last.Differences) > 0, err
	})
	if errors.Is(err, errPatience) {
		err = nil
	}

	if verdict := transaction.Verdict(last); err == nil && verdict != nil {
		problem = verdict.Error() + ": see starter tx reconcile"
	}
	return problem, err
}

var errPatience = errors.New("the purchases of Stars make no progress: see the worker's log")

// until repeats look until it is done or the time is up. It tolerates an API that is briefly unavailable.
func (d *customers) until(ctx context.Context, look func() (over bool, err error)) error {
	for deadline := time.Now().Add(customersPatience); ; {
		over, err := look()
		switch {
		case err != nil && !client.Passing(err) || over && err == nil:
			return err
		case time.Now().After(deadline):
			return errPatience
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(shopEvery):
		}
	}
}
