package service

import (
	"context"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Transactions reads transactions and acts on them for the API and the bot, which admit administrators only, and starts
// their workflows for the worker. While no wallet was ever configured, the methods for API and bot refuse with
// NOT_CONFIGURED.
type Transactions struct {
	Temporal client.Client
	Store    *store.Store
	Log      *slog.Logger
	// Patience is how long an action waits for its outcome before it fails with TEMPORAL_UNAVAILABLE.
	Patience time.Duration

	// Price returns what Fragment asks for so many Stars now. Price, Balance and Friendly are what only other systems know;
	// API and bot need all three.
	Price func(ctx context.Context, stars int64) (nano int64, err error)
	// Balance returns what the chain says of the wallet, after its transaction lt.
	Balance func(ctx context.Context, wallet string) (lt, nano int64, err error)
	// Friendly returns the form of an address that people copy.
	Friendly func(wallet string) string
	Most     int64 // Stars in one purchase
	Reserve  int64 // nanoTON kept back of each transfer

	StuckAfter time.Duration // a transaction in processing for longer is stuck
	Monitored  string        // the wallet whose monitor this process keeps running; empty: none
	Failures   FailurePolicy
	OnEnded    func(state lifecycle.TransactionState) // counts the outcomes of attempts to carry out an order
}

// Deadline returns when administrators are notified that a transaction is stuck; nil: it is not in processing.
func (c *Transactions) Deadline(t transaction.Transaction) *time.Time {
	if t.State != lifecycle.TransactionProcessing || t.ProcessingSince == nil {
		return nil
	}
	at := t.ProcessingSince.Add(c.StuckAfter).UTC()
	return &at
}

// Find returns a transaction.
func (c *Transactions) Find(ctx context.Context, hash string) (transaction.Transaction, error) {
	if _, err := c.wallet(ctx); err != nil {
		return transaction.Transaction{}, err
	}
	if !lifecycle.TransactionHashPattern.MatchString(hash) {
		return transaction.Transaction{}, fault.New(fault.TransactionNotFound, "this is not the hash of a transaction")
	}
	return c.Store.TransactionByHash(ctx, hash)
}

// List returns transactions, the newest first.
func (c *Transactions) List(ctx context.Context, f transaction.Filter) ([]transaction.Transaction, error) {
	if !lifecycle.IsText(f.Error) {
		return nil, lifecycle.NotText("error")
	}
	if _, err := c.wallet(ctx); err != nil {
		return nil, err
	}
	return c.Store.Transactions(ctx, f)
}

// Payments returns what was signed for a transaction, the oldest first.
func (c *Transactions) Payments(ctx context.Context, hash string) ([]transaction.Payment, error) {
	if _, err := c.Find(ctx, hash); err != nil {
		return nil, err
	}
	return c.Store.PaymentsOf(ctx, hash)
}

// Events returns the events of a transaction, the oldest first.
func (c *Transactions) Events(ctx context.Context, hash string) ([]core.StreamedEvent, error) {
	if _, err := c.Find(ctx, hash); err != nil {
		return nil, err
	}
	return c.Store.EventsOfTransaction(ctx, hash)
}

// Queue returns the transaction that has the wallet's turn and those that wait for it, in order.
func (c *Transactions) Queue(ctx context.Context, limit int) ([]transaction.QueueEntry, error) {
	wallet, err := c.wallet(ctx)
	if err != nil {
		return nil, err
	}
	return c.Store.PaymentQueue(ctx, wallet.Address, limit)
}

// Stats counts all transactions, and those of the last days on which there were any.
func (c *Transactions) Stats(ctx context.Context, days int) (transaction.TransactionStats, error) {
	if _, err := c.wallet(ctx); err != nil {
		return transaction.TransactionStats{}, err
	}
	return c.Store.StatsOfTransactions(ctx, days)
}

// TransactionTerms say how to pay for Stars.
type TransactionTerms struct {
	Address     string // of the wallet, as people copy it
	Least, Most int64  // Stars in one purchase
	ReserveNano int64  // of each transfer, for gas
	PriceNano   int64  // of Least Stars, now
}

// Terms returns the terms, with Fragment's current price.
func (c *Transactions) Terms(ctx context.Context) (TransactionTerms, error) {
	wallet, err := c.wallet(ctx)
	if err != nil {
		return TransactionTerms{}, err
	}
	price, err := c.Price(ctx, stars.Least)
	return TransactionTerms{
		Address: c.Friendly(wallet.Address), Least: stars.Least, Most: c.Most, ReserveNano: c.Reserve, PriceNano: price,
	}, err
}

// Pause stops all payments: once it returns, nothing is signed until Resume. Payments that are signed already are still
// followed to their proof.
func (c *Transactions) Pause(ctx context.Context, user account.User, reason string) error {
	if _, err := c.wallet(ctx); err != nil {
		return err
	}
	return c.Store.Pause(ctx, &user.ID, reason)
}

// Resume ends a pause, and a hold that the system has set itself.
func (c *Transactions) Resume(ctx context.Context) error {
	if _, err := c.wallet(ctx); err != nil {
		return err
	}
	return c.Store.Resume(ctx)
}

// Switches lists what may stop payments, each on or off.
func (c *Transactions) Switches(ctx context.Context) ([]transaction.Switch, error) {
	if _, err := c.wallet(ctx); err != nil {
		return nil, err
	}
	return c.Store.Switches(ctx)
}

// Start starts a transaction's workflow, unless it runs. A workflow that ran before continues from the record's state.
func (c *Transactions) Start(ctx context.Context, hash string) error {
	return c.start(ctx, transactionStart(hash), hash)
}

// Refresh makes a transaction's workflow read the record again.
func (c *Transactions) Refresh(ctx context.Context, hash string) error {
	return c.Temporal.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", lifecycle.TransactionSettledSignal, nil)
}

// Restart starts a transaction's workflow anew from the record, whatever the state of the workflow before: the record
// was set back.
func (c *Transactions) Restart(ctx context.Context, hash string) error {
	options := transactionStart(hash)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	return c.start(ctx, options, hash)
}

func (c *Transactions) start(ctx context.Context, options client.StartWorkflowOptions, hash string) error {
	if err := start(ctx, c.Temporal, options, lifecycle.TransactionType, hash); err != nil {
		return err
	}
	return c.Store.MarkTransactionStarted(ctx, hash)
}

func transactionStart(hash string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       lifecycle.TransactionID(hash),
		TaskQueue:                lifecycle.MainQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            lifecycle.TransactionTitle(hash),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.StageAttribute.ValueSet(string(lifecycle.TransactionPending)),
		),
	}
}

// StartMonitor makes sure that the one monitor of a wallet runs.
func (c *Transactions) StartMonitor(ctx context.Context, wallet string) error {
	_, err := c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       lifecycle.TonMonitorID(wallet),
		TaskQueue:                lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            lifecycle.TonMonitorTitle,
	}, lifecycle.TonMonitorType, wallet)
	return err
}

// wallet returns the wallet in use, or refuses because there is none.
func (c *Transactions) wallet(ctx context.Context) (transaction.Wallet, error) {
	wallet, err := c.Store.ActiveWallet(ctx)
	if fault.CodeOf(err) == fault.WalletNotFound {
		return wallet, fault.New(fault.NotConfigured, "transactions are off: no wallet is configured")
	}
	return wallet, err
}
