package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
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

	// Price returns what Fragment asks for so many Stars now. Price, Balance and Friendly are what only other systems
	// know; API and bot need all three.
	Price func(ctx context.Context, stars int64) (nano int64, err error)
	// Balance returns what the chain says of the wallet, after its transaction lt.
	Balance func(ctx context.Context, wallet string) (lt, nano int64, err error)
	// Friendly returns the form of an address that people copy.
	Friendly func(wallet string) string
	Most     int64 // Stars in one purchase
	Reserve  int64 // nanoTON kept back of each transfer
	Slippage int64 // how much more than quoted a purchase may cost, in parts of 10,000
	// Pages is the address of the pages as browsers see them, for links to receipts; empty: there are none.
	Pages string

	StuckAfter time.Duration // a transaction in processing for longer is stuck
	Monitored  string        // the address of the wallet whose monitor this process keeps running; empty: none
	Failures   FailurePolicy
	OnEnded    func(state lifecycle.TransactionState) // counts the outcomes of attempts to carry out an order

	inUse    atomic.Bool             // there is a wallet: one is never removed
	prices   outbound.Reading[int64] // of the smallest number of Stars
	balances outbound.Reading[chainBalance]
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
	if err := c.open(ctx); err != nil {
		return transaction.Transaction{}, err
	}
	if !lifecycle.TransactionHashPattern.MatchString(hash) {
		return transaction.Transaction{}, fault.New(fault.TransactionNotFound, "this is not the hash of a transaction")
	}
	return c.Store.Transactions.ByHash(ctx, hash)
}

// List returns transactions, the newest first.
func (c *Transactions) List(ctx context.Context, f transaction.Filter) ([]transaction.Transaction, error) {
	if !lifecycle.IsText(f.Error) {
		return nil, lifecycle.NotText("error")
	}
	list, err := c.Store.Transactions.List(ctx, f)
	if err == nil && len(list) == 0 {
		err = c.open(ctx)
	}
	return list, err
}

// WholeTransaction is a transaction with what has happened to it, the oldest first.
type WholeTransaction struct {
	transaction.Transaction
	Events   []core.StreamedEvent
	Payments []transaction.Payment // what was signed for it
	Ledger   []transaction.LedgerEntry
}

// Whole returns a transaction with its events, payments and entries of the ledger.
func (c *Transactions) Whole(ctx context.Context, hash string) (whole WholeTransaction, err error) {
	if whole.Transaction, err = c.Find(ctx, hash); err != nil {
		return whole, err
	}
	if whole.Events, err = c.Store.Transactions.EventsOf(ctx, hash); err != nil {
		return whole, err
	}
	if whole.Payments, err = c.Store.Transactions.PaymentsOf(ctx, hash); err != nil {
		return whole, err
	}

	whole.Ledger, err = c.Store.Transactions.LedgerOf(ctx, hash)
	return whole, err
}

// Stats counts all transactions, and those of the last days on which there were any.
func (c *Transactions) Stats(ctx context.Context, days int) (transaction.TransactionStats, error) {
	if err := c.open(ctx); err != nil {
		return transaction.TransactionStats{}, err
	}
	return c.Store.Transactions.Stats(ctx, days)
}

const (
	priceAge  = 30 * time.Second // how long a price of Fragment is shown to everybody
	priceGood = 10 * time.Minute // how long an amount that includes the slippage is shown as enough
	step      = money.TON / 100  // amounts to send are rounded up to it
	fullShare = 10_000           // parts in which the slippage is given
)

// TransactionTerms say how to pay for Stars. Amounts are in nanoTON; 0: not known.
type TransactionTerms struct {
	Address     string // of the wallet, as people copy it
	Least, Most int64  // Stars in one purchase
	ReserveNano int64  // of each transfer, for gas
	Slippage    int64  // that AmountNano includes, in parts of 10,000
	PriceNano   int64  // of Least Stars, now
	LeastNano   int64  // the smallest transfer that buys Stars now
	GoodUntil   time.Time

	// What somebody wants to buy.
	Username   string // whom the Stars are for; empty: nobody was named
	Stars      int64  // 0: as many as the transfer buys
	AmountNano int64  // to be sent for so many Stars
	Comment    string // of the transfer; empty while nobody is named, or the amount for so many Stars is not known
	Link       string // opens a wallet with all of it; empty without a comment
}

// Terms returns how to pay for Stars now, for a username and so many of them; both may be left out. Without an answer
// of Fragment the prices are missing. The comment names a number of Stars only together with an amount that includes
// the slippage: a price that moves meanwhile would else make the transfer too small for them.
func (c *Transactions) Terms(ctx context.Context, username string, number int64) (TransactionTerms, error) {
	username = strings.TrimPrefix(username, "@")
	if err := checkWish(username, number, c.Most); err != nil {
		return TransactionTerms{}, err
	}

	wallet, err := c.wallet(ctx)
	if err != nil {
		return TransactionTerms{}, err
	}

	price, at, err := c.prices.Get(ctx, priceAge, func(ctx context.Context) (int64, error) {
		return c.Price(ctx, stars.Least)
	})
	if err != nil {
		c.Log.Info("the price of Stars is not known", "error", err)
		price = 0
	}

	terms := TransactionTerms{
		Address: c.Friendly(wallet.Address), Least: stars.Least, Most: c.Most, ReserveNano: c.Reserve,
		Slippage: c.Slippage, PriceNano: price, Username: username, Stars: number,
	}

	if price > 0 {
		terms.GoodUntil = at.Add(priceGood).UTC()
		terms.LeastNano = roundUp(money.Nano(price + c.Reserve))
	}

	if err := terms.fill(); err != nil {
		return TransactionTerms{}, err
	}
	return terms, nil
}

// checkWish refuses what nobody could buy.
func checkWish(username string, number, most int64) error {
	if username != "" && !stars.IsUsername(username) {
		return fault.Invalid("username", "a username has 4 to 32 letters, digits and underscores, and begins with a letter")
	}
	if number != 0 && stars.CheckNumber(number, most) != nil {
		return fault.Invalid("stars", "at least %d Stars and at most %d are sold at a time", stars.Least, most)
	}
	return nil
}

// fill computes the amount, and writes comment and link.
func (t *TransactionTerms) fill() error {
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

// roundUp rounds an amount up to hundredths of a coin.
func roundUp(amount money.Nano) int64 { return int64((amount + step - 1) / step * step) }

// Receipt returns the receipt with a key. Whoever has the key may see it: no user is asked for.
func (c *Transactions) Receipt(ctx context.Context, key string) (receipt.Receipt, error) {
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

// Receipts returns the receipts of transactions that buy Stars for a user, the newest first, without steps.
func (c *Transactions) Receipts(
	ctx context.Context, user account.User, before int64, limit int,
) ([]receipt.Receipt, error) {
	found, err := c.Store.Transactions.TransactionsFor(ctx, user.ID, before, limit)
	if err != nil {
		return nil, err
	}

	receipts := make([]receipt.Receipt, len(found))
	for i, t := range found {
		receipts[i] = receipt.Of(t)
	}
	return receipts, nil
}

// ReceiptURL is the address of a transaction's receipt; empty: the pages have no public address.
func (c *Transactions) ReceiptURL(t transaction.Transaction) string {
	if c.Pages == "" || t.ReceiptKey == "" {
		return ""
	}
	return c.Pages + "/receipts/" + t.ReceiptKey
}

// Start starts a transaction's workflow, unless it runs. A workflow that ran before continues from the record's state.
func (c *Transactions) Start(ctx context.Context, hash string) error {
	return c.start(ctx, transactionStart(hash), hash)
}

// Refresh makes a transaction's workflow read the record again.
func (c *Transactions) Refresh(ctx context.Context, hash string) error {
	return c.Temporal.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", lifecycle.TransactionRefreshSignal, nil)
}

// Restart starts a transaction's workflow anew from the record, whatever the state of the workflow before: the record
// was set back.
func (c *Transactions) Restart(ctx context.Context, hash string) error {
	options := transactionStart(hash)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	return c.start(ctx, options, hash)
}

func (c *Transactions) start(ctx context.Context, options client.StartWorkflowOptions, hash string) error {
	if _, err := start(ctx, c.Temporal, options, lifecycle.TransactionType, hash); err != nil {
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

// StartMonitor makes sure that the one monitor of this process's wallet runs.
func (c *Transactions) StartMonitor(ctx context.Context) error {
	_, err := c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       lifecycle.TonMonitorID(c.Monitored),
		TaskQueue:                lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            lifecycle.TonMonitorTitle,
	}, lifecycle.TonMonitorType, c.Monitored)
	return err
}
