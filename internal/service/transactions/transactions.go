// Package transactions reads transactions, acts on them, and starts their workflows.
package transactions

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/outbound"
	"stagecoach/internal/receipt"
	"stagecoach/internal/service"
	"stagecoach/internal/stars"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Service reads transactions and acts on them for the API and the bot, which admit administrators only, and starts
// their workflows for the worker. Until a wallet has been configured, the methods for the API and the bot refuse with
// NOT_CONFIGURED.
type Service struct {
	Temporal client.Client
	Store    *store.Store
	Log      *slog.Logger
	// Patience is how long an action waits for its outcome before it fails with TEMPORAL_UNAVAILABLE.
	Patience time.Duration

	// Price returns Fragment's current price of a number of Stars. Price, Balance and Friendly come from external systems;
	// the API and the bot need all three.
	Price func(ctx context.Context, stars int64) (nano int64, err error)
	// Balance returns the wallet's balance on the chain after its transaction lt.
	Balance func(ctx context.Context, wallet string) (lt, nano int64, err error)
	// Friendly returns an address in the form that people copy.
	Friendly func(wallet string) string
	Most     int64 // Stars in one purchase
	Reserve  int64 // nanoTON kept back from each transfer
	Slippage int64 // how far a purchase may exceed its quote, in parts of 10,000
	// Pages is the pages' address in browsers, for links to receipts; empty: there are none.
	Pages string

	StuckAfter time.Duration // a transaction processing for longer is stuck
	Failures   FailurePolicy
	OnEnded    func(state lifecycle.TransactionState) // counts the outcomes of attempts to execute an order

	inUse    atomic.Bool             // a wallet exists; wallets are never removed
	prices   outbound.Reading[int64] // of the minimum number of Stars
	balances outbound.Reading[chainBalance]
}

// Deadline returns when administrators are notified that a transaction is stuck, or nil if it is not processing.
func (c *Service) Deadline(t transaction.Transaction) *time.Time {
	if t.State != lifecycle.TransactionProcessing || t.ProcessingSince == nil {
		return nil
	}
	at := t.ProcessingSince.Add(c.StuckAfter).UTC()
	return &at
}

// shortHash is a hash prefix as shown on pages and in lists.
var shortHash = regexp.MustCompile(`^[0-9a-f]{8,63}$`)

// Find returns a transaction by its hash or a unique prefix of it.
func (c *Service) Find(ctx context.Context, hash string) (transaction.Transaction, error) {
	if err := c.open(ctx); err != nil {
		return transaction.Transaction{}, err
	}
	if shortHash.MatchString(hash) {
		found, err := c.Store.Transactions.List(ctx, transaction.Filter{HashBegins: hash, Limit: 2})
		switch {
		case err != nil:
			return transaction.Transaction{}, err
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return transaction.Transaction{}, fault.New(fault.TransactionNotFound, "several transactions start like this: give more of the hash")
		}
	}
	if !lifecycle.TransactionHashPattern.MatchString(hash) {
		return transaction.Transaction{}, fault.New(fault.TransactionNotFound, "this is not the hash of a transaction")
	}
	return c.Store.Transactions.ByHash(ctx, hash)
}

// List returns transactions, newest first.
func (c *Service) List(ctx context.Context, f transaction.Filter) ([]transaction.Transaction, error) {
	if !lifecycle.IsText(f.Error) {
		return nil, lifecycle.NotText("error")
	}
	list, err := c.Store.Transactions.List(ctx, f)
	if err == nil && len(list) == 0 {
		err = c.open(ctx)
	}
	return list, err
}

// Overview is a transaction with its history, oldest first.
type Overview struct {
	transaction.Transaction
	Events   []core.StreamedEvent
	Payments []transaction.Payment // signed for it
	Ledger   []transaction.LedgerEntry
}

// Whole returns a transaction with its events, payments and ledger entries.
func (c *Service) Whole(ctx context.Context, hash string) (whole Overview, err error) {
	if whole.Transaction, err = c.Find(ctx, hash); err != nil {
		return whole, err
	}
	hash = whole.Hash
	if whole.Events, err = c.Store.Transactions.EventsOf(ctx, hash); err != nil {
		return whole, err
	}
	if whole.Payments, err = c.Store.Transactions.PaymentsOf(ctx, hash); err != nil {
		return whole, err
	}

	whole.Ledger, err = c.Store.Transactions.LedgerOf(ctx, hash)
	return whole, err
}

// Stats counts all transactions, and those of the last days on which there were any; 0: of all days.
func (c *Service) Stats(ctx context.Context, days int) (transaction.TransactionStats, error) {
	if err := c.open(ctx); err != nil {
		return transaction.TransactionStats{}, err
	}
	return c.Store.Transactions.Stats(ctx, days)
}

const (
	priceAge  = 30 * time.Second // how long a price of Fragment is shared by all users
	priceGood = 10 * time.Minute // how long an amount that includes the slippage is shown as sufficient
	step      = money.TON / 100  // amounts to send are rounded up to a multiple of this
	fullShare = 10_000           // parts in which the slippage is given
)

// Terms explain how to pay for Stars. Amounts are in nanoTON; 0: unknown.
type Terms struct {
	Address     string // of the wallet, as people copy it
	Least, Most int64  // Stars in one purchase
	ReserveNano int64  // of each transfer, for gas
	Slippage    int64  // included in AmountNano, in parts of 10,000
	PriceNano   int64  // current price of Least Stars
	LeastNano   int64  // the smallest transfer that currently buys Stars
	GoodUntil   time.Time

	// The requested purchase.
	Username   string // recipient of the Stars; empty: not given
	Stars      int64  // 0: as many as the transfer buys
	AmountNano int64  // to send for this many Stars
	Comment    string // of the transfer; empty without a recipient, or if the amount for this many Stars is unknown
	Link       string // opens a wallet with these details; empty without a comment
}

// Terms returns how to pay for Stars now, for a username and a number of Stars, both optional. Without an answer from
// Fragment the prices are missing. The comment names a number of Stars only together with an amount that includes the
// slippage: otherwise a price change could make the transfer too small.
func (c *Service) Terms(ctx context.Context, username string, number int64) (Terms, error) {
	username = stars.Username(username)
	if err := checkWish(username, number, c.Most); err != nil {
		return Terms{}, err
	}

	wallet, err := c.wallet(ctx)
	if err != nil {
		return Terms{}, err
	}

	price, at, err := c.prices.Get(ctx, priceAge, func(ctx context.Context) (int64, error) {
		return c.Price(ctx, stars.Least)
	})
	if err != nil {
		c.Log.Info("price of Stars unknown", "error", err)
		price = 0
	}

	terms := Terms{
		Address: c.Friendly(wallet.Address), Least: stars.Least, Most: c.Most, ReserveNano: c.Reserve,
		Slippage: c.Slippage, PriceNano: price, Username: username, Stars: number,
	}

	if price > 0 {
		terms.GoodUntil = at.Add(priceGood).UTC()
		terms.LeastNano = roundUp(money.Nano(price + c.Reserve))
	}

	if err := terms.fill(); err != nil {
		return Terms{}, err
	}
	return terms, nil
}

var noUsername = fault.Invalid("username", "a username has 4 to 32 letters, digits and underscores, and begins with a letter")

// checkWish refuses impossible purchases.
func checkWish(username string, number, most int64) error {
	if username != "" && !stars.IsUsername(username) {
		return noUsername
	}
	if number != 0 && stars.CheckNumber(number, most) != nil {
		return fault.Invalid("stars", "at least %d Stars and at most %d are sold at a time", stars.Least, most)
	}
	return nil
}

// fill computes the amount, the comment and the link.
func (t *Terms) fill() error {
	if t.Stars > 0 && t.PriceNano > 0 {
		cost, err := money.Nano(t.PriceNano).MulDiv(t.Stars, stars.Least)
		if err == nil {
			cost, err = (cost + 1).MulDiv(fullShare+t.Slippage, fullShare)
		}
		if err != nil {
			return fault.New(fault.Internal, "the price is too large to compute with").WithCause(err)
		}
		t.AmountNano = roundUp(cost + money.Nano(t.ReserveNano))
	}

	switch {
	case t.Username == "" || t.Stars > 0 && t.AmountNano == 0:
		return nil
	case t.Stars > 0:
		t.Comment = fmt.Sprint(t.Username, " ", t.Stars)
		t.Link = fmt.Sprintf("ton://transfer/%s?amount=%d&text=%s", t.Address, t.AmountNano, url.PathEscape(t.Comment))
	default: // the payer chooses the amount
		t.Comment = t.Username
		t.Link = fmt.Sprintf("ton://transfer/%s?text=%s", t.Address, url.PathEscape(t.Comment))
	}

	return nil
}

// roundUp rounds an amount up to hundredths of a TON.
func roundUp(amount money.Nano) int64 { return int64((amount + step - 1) / step * step) }

// Receipt returns a receipt by its key. The key grants access without a user.
func (c *Service) Receipt(ctx context.Context, key string) (receipt.Receipt, error) {
	if !receiptKey.MatchString(key) {
		return receipt.Receipt{}, fault.New(fault.ReceiptNotFound, "this is not the key of a receipt")
	}

	t, err := c.Store.Transactions.ByReceipt(ctx, key)
	if err != nil {
		return receipt.Receipt{}, err
	}

	events, err := c.Store.Transactions.EventsOf(ctx, t.Hash)
	if err != nil {
		return receipt.Receipt{}, err
	}

	payments, err := c.Store.Transactions.PaymentsOf(ctx, t.Hash)
	if err != nil {
		return receipt.Receipt{}, err
	}

	return receipt.Of(t).WithSteps(events, payments), nil
}

var receiptKey = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Receipts returns the receipts of transactions that buy Stars for a user, newest first, without steps. With a username
// it returns those of the last hour for that name: in full those for the user, and of the others only the result and
// what is public on the chain.
func (c *Service) Receipts(
	ctx context.Context, user account.User, username string, before int64, limit int,
) (_ []receipt.Receipt, err error) {
	var found []transaction.Transaction
	if username != "" {
		username = stars.Username(username)
		if !stars.IsUsername(username) {
			return nil, noUsername
		}
		found, err = c.Store.Transactions.TransactionsTo(ctx, account.PlainUsername(username), before, limit)
	} else {
		found, err = c.Store.Transactions.TransactionsFor(ctx, user.ID, before, limit)
	}
	if err != nil {
		return nil, err
	}

	receipts := make([]receipt.Receipt, len(found))
	for i, t := range found {
		receipts[i] = receipt.Of(t)
		if t.UserID == nil || *t.UserID != user.ID {
			receipts[i] = receipts[i].Public()
		}
	}
	return receipts, nil
}

// ReceiptURL is the address of a transaction's receipt; empty: the pages have no public address.
func (c *Service) ReceiptURL(t transaction.Transaction) string {
	if c.Pages == "" || t.ReceiptKey == "" {
		return ""
	}
	return c.Pages + "/receipts/" + t.ReceiptKey
}

// Start starts a transaction's workflow; a running one reads the record again. A successor of an earlier workflow
// continues from the recorded state.
func (c *Service) Start(ctx context.Context, hash string) error {
	options := transactionStart(hash)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	return c.start(ctx, options, hash)
}

// Refresh makes a transaction's workflow read the record again.
func (c *Service) Refresh(ctx context.Context, hash string) error {
	return c.Temporal.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", lifecycle.TransactionRefreshSignal, nil)
}

// Restart starts a transaction's workflow anew from the record, whatever the old workflow's state: the record was set
// back.
func (c *Service) Restart(ctx context.Context, hash string) error {
	options := transactionStart(hash)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	return c.start(ctx, options, hash)
}

func (c *Service) start(ctx context.Context, options client.StartWorkflowOptions, hash string) error {
	runs, err := service.Start(ctx, c.Temporal, options, lifecycle.TransactionType, hash)
	if err == nil && runs {
		err = temporalio.SignalRunning(ctx, c.Temporal, lifecycle.TransactionID(hash), lifecycle.TransactionRefreshSignal, nil)
	}
	if err != nil {
		return err
	}
	return c.Store.Transactions.MarkStarted(ctx, hash)
}

func transactionStart(hash string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       lifecycle.TransactionID(hash),
		TaskQueue:                lifecycle.MainQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            lifecycle.TransactionTitle(hash),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.EntityAttribute.ValueSet(hash),
			temporalio.StageAttribute.ValueSet(string(lifecycle.TransactionPending)),
			temporalio.WaitsForAttribute.ValueSet(lifecycle.WaitsForPurchase),
		),
	}
}

// StartMonitor makes sure that a wallet's only monitor is running.
func (c *Service) StartMonitor(ctx context.Context, wallet string) error {
	_, err := c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       lifecycle.TonMonitorID(wallet),
		TaskQueue:                lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            lifecycle.TonMonitorTitle,
	}, lifecycle.TonMonitorType, wallet)
	return err
}
