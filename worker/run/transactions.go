package run

import (
	"errors"
	"fmt"
	"time"

	"stagecoach/activities"
	"stagecoach/internal/app"
	"stagecoach/internal/fragment"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// shop makes the activities of transactions. Without a wallet's key there is no monitor, and what is under way waits
// for an operator.
func (a process) shop(keeper *service.Transactions) (activities.Main, error) {
	c := a.Config.Transactions
	settings := activities.TransactionSettings{
		Attempts: c.Attempts, MaxStars: c.MaxStars, Reserve: c.Reserve, Slippage: c.Slippage,
		Limits: store.Limits{
			PerPurchase: c.PaymentLimit, PerDay: c.DailyLimit, PerRefund: c.RefundLimit, RefundPerDay: c.RefundDailyLimit,
		},
		PaymentTTL: c.PaymentTTL, FinalityMargin: c.FinalityMargin, HoldRetry: c.HoldRetry, RetryFor: c.RetryFor,
		RetryPause: c.RetryPause, PollInterval: c.PollInterval,
		MinDeposit: c.MinDeposit, WholeHistory: c.WholeHistory, Refund: c.Refund, RefundLeast: c.RefundLeast,
		SecondSource: a.Config.TON.SecondURL != "", SecondFrom: c.SecondFrom,
	}

	wallet, err := a.Wallet()
	if err != nil {
		return activities.Main{}, err
	}

	cashier := &activities.PaymentActivities{
		Store: a.Store, Wallet: wallet, Chain: a.Chain(), Second: a.secondSource(), Settings: settings, Metrics: a.Metrics,
		Log: a.Log,
	}

	shop := activities.Main{
		Transactions: &activities.Transactions{
			Store: a.Store, Settings: settings, Orders: keeper, Metrics: a.Metrics, Log: a.Log,
		},
		Payments: cashier,
	}

	if wallet == nil {
		cashier.Fragment = a.Fragment(fragment.Options{})
		return shop, nil
	}

	cookies, err := fragment.ParseCookies(a.Config.Fragment.Cookies)
	if err != nil {
		return activities.Main{}, fmt.Errorf("STAGECOACH_FRAGMENT_COOKIES: %w", err)
	}

	cashier.Fragment = a.Fragment(fragment.Options{Cookies: cookies, Wallet: fragment.Account{
		Address: wallet.Address(), PublicKey: wallet.PublicKey(), StateInit: wallet.StateInit(), Network: wallet.Network(),
	}})

	if cashier.Allow, err = addresses("STAGECOACH_TX_ALLOW", c.Allow); err != nil {
		return activities.Main{}, err
	}
	if len(cashier.Allow) == 0 {
		return activities.Main{}, errors.New("STAGECOACH_TX_ALLOW: must name the addresses that Fragment is paid at")
	}

	topUpFrom, err := addresses("STAGECOACH_TX_TOP_UP_FROM", c.TopUpFrom)
	if err != nil {
		return activities.Main{}, err
	}

	shop.Monitor = &activities.TonMonitor{
		Store: a.Store, Wallet: wallet.Address(), Chain: cashier.Chain, TopUpFrom: topUpFrom, Settings: settings,
		Temporal: a.Temporal, Metrics: a.Metrics, Log: a.Log,
		Start: app.TraceStart("deposit", keeper.Start),
	}

	return shop, nil
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
func (a process) secondSource() *activities.SecondSource {
	c := a.Config.TON
	if c.SecondURL == "" {
		return nil
	}
	return &activities.SecondSource{
		Wait: a.Config.Transactions.SecondWait, Note: a.Liveness.Noting(liveness.Toncenter2),
		Chain: toncenter.New(toncenter.Options{
			URL: c.SecondURL, APIKey: c.SecondKey, RequestsPerSecond: c.SecondRate, CallTimeout: 5 * time.Second,
			Reserve: app.SharedRate(a.Store, "toncenter-2", c.SecondURL, c.SecondKey),
		}),
	}
}
