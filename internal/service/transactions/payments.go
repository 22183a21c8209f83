package transactions

import (
	"context"
	"errors"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

var notConfigured = fault.New(fault.NotConfigured, "transactions are off: no wallet is configured")

// wallet returns the wallet, or refuses if none was ever configured.
func (c *Service) wallet(ctx context.Context) (transaction.Wallet, error) {
	wallet, err := c.Store.Transactions.ActiveWallet(ctx)
	switch {
	case fault.CodeOf(err) == fault.WalletNotFound:
		return wallet, notConfigured
	case err == nil:
		c.inUse.Store(true)
	}
	return wallet, err
}

// open refuses if no wallet was ever configured.
func (c *Service) open(ctx context.Context) error {
	if c.inUse.Load() {
		return nil
	}
	_, err := c.wallet(ctx)
	return err
}

// Queue lists the transactions that wait for the wallet and what stops payments.
type Queue struct {
	transaction.Switches
	Line []transaction.QueueEntry
}

// Queue returns the transaction that holds the wallet and those that wait for it.
func (c *Service) Queue(ctx context.Context, limit int) (queue Queue, err error) {
	wallet, err := c.wallet(ctx)
	if err != nil {
		return queue, err
	}
	if queue.Switches, err = c.Store.Transactions.Switches(ctx); err != nil {
		return queue, err
	}
	queue.Line, err = c.Store.Transactions.PaymentQueue(ctx, wallet.Address, limit)
	return queue, err
}

// Pause stops all payments: once it returns, nothing is signed until Resume. Payments already signed are still followed
// until they are proven.
func (c *Service) Pause(ctx context.Context, user account.User, reason string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	return c.Store.Transactions.Pause(ctx, &user.ID, reason)
}

// Resume ends a pause, and a hold set by the system. Orders deferred by the 24-hour limit are retried.
func (c *Service) Resume(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if err := c.Store.Transactions.Resume(ctx); err != nil {
		return err
	}
	return c.RetryDeferred(ctx)
}

// Switches returns what stops payments.
func (c *Service) Switches(ctx context.Context) (transaction.Switches, error) {
	return c.Store.Transactions.Switches(ctx)
}

// RetryDeferred retries the orders deferred by the 24-hour limit: the limits may have changed.
func (c *Service) RetryDeferred(ctx context.Context) error {
	deferred, err := c.Store.Transactions.Deferred(ctx)
	for _, hash := range deferred {
		signalErr := temporalio.SignalRunning(ctx, c.Temporal, lifecycle.TransactionID(hash), lifecycle.TransactionRetrySignal, nil)
		err = errors.Join(err, signalErr)
	}
	return err
}
