package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

// Wallets lists the wallets in use with their lines, by name. There is at least one, or it refuses.
func (c *Transactions) Wallets(ctx context.Context) ([]transaction.WalletLine, error) {
	wallets, err := c.Store.WalletsInUse(ctx)
	if err == nil && len(wallets) == 0 {
		return nil, notConfigured
	}
	if err == nil {
		c.inUse.Store(true)
	}
	return wallets, err
}

var notConfigured = fault.New(fault.NotConfigured, "transactions are off: no wallet is configured")

// open refuses while no wallet was ever configured.
func (c *Transactions) open(ctx context.Context) error {
	if c.inUse.Load() {
		return nil
	}
	_, err := c.Wallets(ctx)
	return err
}

// walletAway is the time after which a wallet that nobody follows is named to customers only if there is no other.
const walletAway = 5 * time.Minute

// shortest returns the wallet to which a customer's money goes the fastest: of those whose payments go on the one with
// the shortest line.
func (c *Transactions) shortest(ctx context.Context) (transaction.WalletLine, error) {
	wallets, err := c.Wallets(ctx)
	if err != nil {
		return transaction.WalletLine{}, err
	}

	rank := func(w transaction.WalletLine) int {
		switch {
		case time.Since(w.SeenAt) > walletAway:
			return 2
		case w.Stopped:
			return 1
		default:
			return 0
		}
	}
	return slices.MinFunc(wallets, func(a, b transaction.WalletLine) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Waiting, b.Waiting), strings.Compare(a.Name, b.Name))
	}), nil
}

// wallet returns the wallet in use with a name or an address; empty: the first.
func (c *Transactions) wallet(ctx context.Context, wanted string) (transaction.WalletLine, error) {
	wallets, err := c.Wallets(ctx)
	if err != nil {
		return transaction.WalletLine{}, err
	}
	return named(wallets, wanted)
}

func named(wallets []transaction.WalletLine, wanted string) (transaction.WalletLine, error) {
	i := slices.IndexFunc(wallets, func(w transaction.WalletLine) bool {
		return wanted == "" || wanted == w.Name || wanted == w.Address
	})
	if i < 0 {
		return transaction.WalletLine{}, fault.Invalid("wallet", "no wallet in use has this name or address")
	}
	return wallets[i], nil
}

// address returns the address of the wallet in use with a name or an address; empty: of all.
func (c *Transactions) address(ctx context.Context, wanted string) (string, error) {
	if wanted == "" {
		return "", c.open(ctx)
	}
	wallet, err := c.wallet(ctx, wanted)
	return wallet.Address, err
}

// Queue is who waits for a wallet's turn, and what stops payments.
type Queue struct {
	Stops
	Line []transaction.QueueEntry
}

// Queue returns the transactions that have their wallet's turn and those that wait for it, wallet by wallet in the order
// of the turns, for the wallet with a name or an address or for all in use.
func (c *Transactions) Queue(ctx context.Context, wanted string, limit int) (queue Queue, err error) {
	if queue.Stops, err = c.Stops(ctx); err != nil {
		return queue, err
	}

	asked := queue.Wallets
	if wanted != "" {
		one, err := named(asked, wanted)
		if err != nil {
			return queue, err
		}
		asked = []transaction.WalletLine{one}
	}

	for _, wallet := range asked {
		if len(queue.Line) == limit {
			break
		}
		more, err := c.Store.PaymentQueue(ctx, wallet.Address, limit-len(queue.Line))
		if err != nil {
			return queue, err
		}
		queue.Line = append(queue.Line, more...)
	}
	return queue, nil
}

// Pause stops all payments, of the wallet with a name or an address or of all: once it returns, nothing is signed until
// Resume. Payments that are signed already are still followed to their proof.
func (c *Transactions) Pause(ctx context.Context, user account.User, wanted, reason string) error {
	wallet, err := c.address(ctx, wanted)
	if err != nil {
		return err
	}
	return c.Store.Pause(ctx, wallet, &user.ID, reason)
}

// Resume ends a pause, and a hold that the system has set itself, of the wallet with a name or an address or of all. The
// pause of all stays when one is named.
func (c *Transactions) Resume(ctx context.Context, wanted string) error {
	wallet, err := c.address(ctx, wanted)
	if err != nil {
		return err
	}
	return c.Store.Resume(ctx, wallet)
}

// Stops are the wallets in use, and the switches that are on.
type Stops struct {
	Wallets []transaction.WalletLine
	On      []transaction.Switch
}

// Stops lists what stops payments.
func (c *Transactions) Stops(ctx context.Context) (stops Stops, err error) {
	if stops.Wallets, err = c.Wallets(ctx); err != nil {
		return stops, err
	}
	stops.On, err = c.Store.SwitchesOn(ctx)
	return stops, err
}
