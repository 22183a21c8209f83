package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/worker"

	"stagecoach/activities/transaction"
	"stagecoach/internal/app"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/stars"
	transactionstore "stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
)

// transactionPart returns the part of transactions. A process without the wallet's key has no monitor, and serves no
// queue with payments.
func (p process) transactionPart(services all.Services) (part, error) {
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
		Chain: p.Chain(), Settings: settings, Orders: orders, Temporal: p.Temporal, Metrics: p.Metrics.Transaction(),
		Log: p.Log,
	}

	if wallet != nil {
		monitor, err := p.openWallet(payments, orders)
		if err != nil {
			return part{}, err
		}
		transactions.queues = p.paymentQueues(payments, monitor)
		transactions.start = func(ctx context.Context) error {
			// Deferred payments are retried, because their limits may have changed.
			if err := orders.RetryDeferred(ctx); err != nil || !p.Config.Worker.Serves(lifecycle.WalletQueue) {
				return err
			}
			return orders.StartMonitor(ctx, wallet.Address().Raw()) // the reconciler only knows recorded wallets
		}
	}
	return transactions, nil
}

// openWallet adds what needs the wallet's key to the activities, and returns the wallet's monitor.
func (p process) openWallet(
	payments *transaction.PaymentActivities, orders *transactions.Service,
) (*transaction.Monitor, error) {
	if err := p.openShop(payments); err != nil {
		return nil, err
	}

	topUpFrom, err := addresses("STAGECOACH_TX_TOP_UP_FROM", p.Config.Transactions.TopUpFrom)
	if err != nil {
		return nil, err
	}

	wallet := payments.Wallet.Address()
	return &transaction.Monitor{
		Store: p.Store.Transactions, Alerts: p.Store.Notices, Wallet: wallet,
		Chain: payments.Chain, TopUpFrom: topUpFrom, Settings: payments.Settings, Decided: payments.Decided.Ring,
		Metrics: p.Metrics.Transaction(), Log: p.Log,
		Start: app.TraceStart("deposit", orders.Start),
	}, nil
}

// paymentQueues are the queues of a process that holds the wallet's key.
func (p process) paymentQueues(payments *transaction.PaymentActivities, monitor *transaction.Monitor) (all []queue) {
	if p.Config.Worker.Serves(lifecycle.PaymentQueue) {
		all = append(all, queue{lifecycle.PaymentQueue, paymentsOptions(p.Config), func(w worker.ActivityRegistry) {
			transaction.RegisterPayments(w, payments)
		}})
	}

	if p.Config.Worker.Serves(lifecycle.RefundQueue) {
		all = append(all, queue{lifecycle.RefundQueue, paymentsOptions(p.Config), func(w worker.ActivityRegistry) {
			transaction.RegisterRefunds(w, payments)
		}})
	}

	if p.Config.Worker.Serves(lifecycle.WalletQueue) {
		all = append(all, queue{lifecycle.WalletQueue, reservedOptions(p.Config, activitySlots), func(w worker.ActivityRegistry) {
			transaction.RegisterWallet(w, payments, monitor)
		}})
	}
	return all
}

const (
	// lookEvery is roughly the block time of the chain.
	lookEvery = 400 * time.Millisecond

	// rebroadcastEvery is the initial interval between broadcasts of a payment that is not found: a few blocks.
	// Rebroadcasting a message that has arrived is harmless.
	rebroadcastEvery = 5 * time.Second

	// turnPatience is how long an attempt waits for the Stars of a paid purchase: they arrive within seconds.
	turnPatience = transactionstore.ConfirmTime

	// deferAgain is the pause before a deferred payment is retried if the time at which its limit allows it is unknown.
	deferAgain = 30 * time.Second

	// confirmPatience is how long Fragment is polled about a paid purchase before an operator is notified: Stars arrive
	// within seconds, and after this time only a person can find out why they have not.
	confirmPatience = 10 * time.Minute
)

func (p process) paymentSettings() transaction.Settings {
	c := p.Config.Transactions
	return transaction.Settings{
		MaxStars: stars.Most, Reserve: int64(stars.Reserve), Slippage: stars.Slippage,
		Limits: transactionstore.Limits{
			PerPurchase: c.PaymentLimit, PerDay: c.DailyLimit, PerRefund: c.RefundLimit, RefundPerDay: c.RefundDailyLimit,
			ReviewFrom: c.ReviewFrom, ReviewPerDay: c.ReviewDaily,
		},
		ConfirmPatience: confirmPatience, PaymentTTL: c.PaymentTTL, FinalityMargin: c.FinalityMargin,
		HoldRetry: deferAgain, StuckAfter: lifecycle.TransactionStuckAfter,
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
			return nil, fmt.Errorf("%s: %q: must be TON addresses separated by commas", variable, text)
		}
		list = append(list, address)
	}
	return list, nil
}
