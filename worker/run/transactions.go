package run

import (
	"errors"
	"fmt"
	"time"

	"stagecoach/activities/transaction"
	"stagecoach/internal/app"
	"stagecoach/internal/fragment"
	"stagecoach/internal/operations/liveness"
	transactionstore "stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// addTransactions makes the activities of transactions. Without a wallet's key there is no monitor, and payments that
// are under way wait for an operator.
func (p process) addTransactions(all *parts) error {
	wallet, err := p.Wallet()
	if err != nil {
		return err
	}

	settings := p.transactionSettings()
	all.transactions = &transaction.Activities{
		Store: p.Store, Settings: settings, Orders: all.orders, Metrics: p.Metrics.Transaction(), Log: p.Log,
	}
	all.payments = &transaction.PaymentActivities{
		Store: p.Store, Wallet: wallet, Chain: p.Chain(), Second: p.secondSource(), Settings: settings, Metrics: p.Metrics.Transaction(),
		Log: p.Log,
	}

	if wallet == nil {
		all.payments.Fragment = p.Fragment(fragment.Options{})
		return nil
	}
	if err := p.openShop(all.payments); err != nil {
		return err
	}

	topUpFrom, err := addresses("STAGECOACH_TX_TOP_UP_FROM", p.Config.Transactions.TopUpFrom)
	if err != nil {
		return err
	}

	all.orders.Monitored = wallet.Address().Raw()
	all.monitor = &transaction.Monitor{
		Store: p.Store, Wallet: wallet.Address(), Chain: all.payments.Chain, TopUpFrom: topUpFrom, Settings: settings,
		Temporal: p.Temporal, Metrics: p.Metrics.Transaction(), Log: p.Log,
		Start: app.TraceStart("deposit", all.orders.Start),
	}
	return nil
}

func (p process) transactionSettings() transaction.Settings {
	c := p.Config.Transactions
	return transaction.Settings{
		Attempts: c.Attempts, MaxStars: c.MaxStars, Reserve: c.Reserve, Slippage: c.Slippage,
		Limits: transactionstore.Limits{
			PerPurchase: c.PaymentLimit, PerDay: c.DailyLimit, PerRefund: c.RefundLimit, RefundPerDay: c.RefundDailyLimit,
		},
		PaymentTTL: c.PaymentTTL, FinalityMargin: c.FinalityMargin, HoldRetry: c.HoldRetry, RetryFor: c.RetryFor,
		PollInterval: c.PollInterval,
		MinDeposit:   c.MinDeposit, WholeHistory: c.WholeHistory, Refund: c.Refund, RefundLeast: c.RefundLeast,
		SecondSource: p.Config.TON.SecondURL != "", SecondFrom: c.SecondFrom,
	}
}

// openShop adds the session at Fragment and the addresses that may be paid.
func (p process) openShop(payments *transaction.PaymentActivities) error {
	cookies, err := fragment.ParseCookies(p.Config.Fragment.Cookies)
	if err != nil {
		return fmt.Errorf("STAGECOACH_FRAGMENT_COOKIES: %w", err)
	}

	wallet := payments.Wallet
	payments.Fragment = p.Fragment(fragment.Options{Cookies: cookies, Wallet: fragment.Account{
		Address: wallet.Address(), PublicKey: wallet.PublicKey(), StateInit: wallet.StateInit(), Network: wallet.Network(),
	}})

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

// secondSource is another operator's view of the chain; nil: none is configured. Its calls get less time than those of
// the first one: the order waits anyway.
func (p process) secondSource() *transaction.SecondSource {
	c := p.Config.TON
	if c.SecondURL == "" {
		return nil
	}
	return &transaction.SecondSource{
		Wait: p.Config.Transactions.SecondWait, Note: p.Liveness.Noting(liveness.Toncenter2),
		Chain: toncenter.New(toncenter.Options{
			URL: c.SecondURL, APIKey: c.SecondKey, RequestsPerSecond: c.SecondRate, CallTimeout: 5 * time.Second,
			Reserve: app.SharedRate(p.Store, "toncenter-2", c.SecondURL, c.SecondKey),
		}),
	}
}
