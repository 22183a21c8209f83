package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/worker"

	"stagecoach/activities/transaction"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/stars"
	transactionstore "stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	transactionworkflow "stagecoach/workflows/transaction"
)

// transactionPart gives what transactions need. A process without the wallet's key has no monitor, and serves no queue
// where payments wait.
func (p process) transactionPart(services service.Services) (part, error) {
	wallet, err := p.Wallet()
	if err != nil {
		return part{}, err
	}

	orders, settings := services.Transactions, p.paymentSettings()
	transactions := part{main: register(&transaction.Activities{
		Store: p.Store.Transactions, Alerts: p.Store.Notices, Users: p.Store.Accounts, Answers: p.Store.Answers,
		Settings: settings, Orders: orders, Metrics: p.Metrics.Transaction(),
	})}
	payments := &transaction.PaymentActivities{
		Store: p.Store.Transactions, Alerts: p.Store.Notices, Wallet: wallet,
		Chain: p.Chain(), Settings: settings, Orders: orders, Metrics: p.Metrics.Transaction(),
		Log: p.Log,
	}

	if wallet != nil {
		monitor, err := p.openWallet(payments, orders)
		if err != nil {
			return part{}, err
		}
		transactions.queues = p.paymentQueues(payments, monitor)
		transactions.start = func(ctx context.Context) error { return p.startPayments(ctx, orders) }
	}
	return transactions, nil
}

// openWallet adds to the activities what needs the wallet's key, and makes its monitor.
func (p process) openWallet(
	payments *transaction.PaymentActivities, orders *service.Transactions,
) (*transaction.Monitor, error) {
	if err := p.openShop(payments); err != nil {
		return nil, err
	}

	topUpFrom, err := addresses("STAGECOACH_TX_TOP_UP_FROM", p.Config.Transactions.TopUpFrom)
	if err != nil {
		return nil, err
	}

	wallet := payments.Wallet.Address()
	orders.Monitored = wallet.Raw()
	return &transaction.Monitor{
		Store: p.Store.Transactions, Alerts: p.Store.Notices, Wallet: wallet,
		Chain: payments.Chain, TopUpFrom: topUpFrom, Settings: payments.Settings, Decided: payments.Decided.Ring,
		Metrics: p.Metrics.Transaction(), Log: p.Log,
		Start: app.TraceStart("deposit", orders.Start),
	}, nil
}

// paymentQueues are the queues of a process that holds the wallet's key.
func (p process) paymentQueues(payments *transaction.PaymentActivities, monitor *transaction.Monitor) (all []queue) {
	if serves(p.Config, lifecycle.PaymentQueue) {
		all = append(all, queue{lifecycle.PaymentQueue, paymentsOptions(p.Config), func(w worker.ActivityRegistry) {
			transaction.RegisterPayments(w, payments)
		}})
	}

	if serves(p.Config, lifecycle.WalletQueue) {
		all = append(all, queue{lifecycle.WalletQueue, walletOptions(p.Config), func(w worker.ActivityRegistry) {
			transaction.RegisterWallet(w, payments, monitor)
		}})
	}
	return all
}

// startPayments lets deferred payments try again, because their limits may have changed, and starts the wallet's
// monitor.
func (p process) startPayments(ctx context.Context, orders *service.Transactions) error {
	err := app.RetryWhileUnavailable(ctx, p.Log, "the database", func() error { return orders.RetryDeferred(ctx) })
	if err != nil || !serves(p.Config, lifecycle.WalletQueue) {
		return err
	}
	return p.keepRunning(ctx, "the wallet's monitor", func() error { return orders.StartMonitor(ctx) })
}

const (
	// purchaseAttempts are the attempts to buy before a transaction fails. The system tries it again later.
	purchaseAttempts = 3

	// lookEvery is about a block of the chain.
	lookEvery = 400 * time.Millisecond

	// rebroadcastEvery is the first time between two broadcasts of a payment that is not found: some blocks. A message that is
	// there already changes nothing.
	rebroadcastEvery = 5 * time.Second

	// turnPatience is how long the turn is kept for the Stars of a paid purchase: they come within seconds.
	turnPatience = 30 * time.Second

	// longestHeld is the longest pause between two tries of the order that waits for the end of a hold.
	longestHeld = 30 * time.Second

	// confirmPatience is how long Fragment is asked about a paid purchase before an operator is: Stars come within seconds, and
	// after this time only a person can find out why they do not.
	confirmPatience = 10 * time.Minute
)

func transactionSettings(c config.Config) transactionworkflow.Settings {
	return transactionworkflow.Settings{StuckAfter: c.Transactions.StuckAfter}
}

func (p process) paymentSettings() transaction.Settings {
	c := p.Config.Transactions
	return transaction.Settings{
		Attempts: purchaseAttempts, MaxStars: c.MaxStars, Reserve: int64(stars.Reserve), Slippage: stars.Slippage,
		Limits: transactionstore.Limits{
			PerPurchase: c.PaymentLimit, PerDay: c.DailyLimit, PerRefund: c.RefundLimit, RefundPerDay: c.RefundDailyLimit,
			ReviewFrom: c.ReviewFrom, ReviewPerDay: c.ReviewDaily,
		},
		ConfirmPatience: confirmPatience, PaymentTTL: c.PaymentTTL, FinalityMargin: c.FinalityMargin,
		HoldRetry: longestHeld, RetryFor: c.RetryFor, RetryInterval: c.RetryInterval, StuckAfter: c.StuckAfter,
		LookEvery: lookEvery, RebroadcastEvery: rebroadcastEvery, TurnPatience: turnPatience, PollInterval: c.PollInterval,
		MinDeposit: int64(stars.LeastDeposit), WholeHistory: c.WholeHistory,
		Refund: c.Refund, RefundLeast: int64(stars.LeastRefund),
	}
}

// openShop adds the session at Fragment and the addresses that may be paid.
func (p process) openShop(payments *transaction.PaymentActivities) error {
	shop, err := p.Shop(payments.Wallet)
	if err != nil {
		return err
	}
	payments.Fragment = shop

	payments.Allow, err = addresses("STAGECOACH_TX_ALLOW", p.Config.Transactions.Allow)
	if err == nil && len(payments.Allow) == 0 {
		err = errors.New("STAGECOACH_TX_ALLOW: must name the addresses that Fragment is paid at")
	}
	return err
}

func addresses(variable string, texts []string) ([]ton.Address, error) {
	var list []ton.Address
	for _, text := range texts {
		address, _, err := ton.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: must be TON addresses with commas between them", variable, text)
		}
		list = append(list, address)
	}
	return list, nil
}
