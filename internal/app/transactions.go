package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stagecoach/activities"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/pulse"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// shop makes the activities of transactions. Without a wallet's key there is no monitor, and what is under way waits for
// an operator.
func (a *common) shop(keeper *service.Transactions) (activities.Main, error) {
	c := a.config.Transactions
	settings := activities.TransactionSettings{
		Attempts: c.Attempts, MaxStars: c.MaxStars, Reserve: c.Reserve, Slippage: c.Slippage,
		Limits:     store.Limits{PerPurchase: c.PaymentLimit, PerDay: c.DailyLimit, PerRefund: c.RefundLimit, RefundPerDay: c.RefundDailyLimit},
		PaymentTTL: c.PaymentTTL, FinalityMargin: c.FinalityMargin, HoldRetry: c.HoldRetry, RetryFor: c.RetryFor, RetryPause: c.RetryPause, PollInterval: c.PollInterval,
		MinDeposit: c.MinDeposit, WholeHistory: c.WholeHistory, Refund: c.Refund, RefundLeast: c.RefundLeast,
		SecondSource: a.config.TON.SecondURL != "", SecondFrom: c.SecondFrom,
	}
	wallet, err := a.wallet()
	if err != nil {
		return activities.Main{}, err
	}
	cashier := &activities.Cashier{
		Store: a.store, Wallet: wallet, Chain: a.chain(), Second: a.secondSource(), Settings: settings, Metrics: a.metrics, Log: a.log,
	}
	shop := activities.Main{Transactions: &activities.Transactions{Store: a.store, Settings: settings, Metrics: a.metrics, Log: a.log}, Cashier: cashier}
	if wallet == nil {
		cashier.Fragment = a.fragment(fragment.Options{})
		return shop, nil
	}
	cookies, err := fragment.ParseCookies(a.config.Fragment.Cookies)
	if err != nil {
		return activities.Main{}, fmt.Errorf("STAGECOACH_FRAGMENT_COOKIES: %w", err)
	}
	cashier.Fragment = a.fragment(fragment.Options{Cookies: cookies, Wallet: fragment.Account{
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
		Store: a.store, Wallet: wallet.Address(), Chain: cashier.Chain, TopUpFrom: topUpFrom, Settings: settings, Temporal: a.temporal, Metrics: a.metrics, Log: a.log,
		Start: asked("deposit", keeper.Start), TurnSignal: lifecycle.TransactionTurnSignal, SettledSignal: lifecycle.TransactionSettledSignal,
	}
	return shop, nil
}

// wallet opens the wallet that pays; nil: none is configured.
func (a *common) wallet() (*ton.Wallet, error) {
	c := a.config.TON
	var key ton.Key
	var err error
	switch {
	case c.Key != "":
		key, err = ton.ParseKey(c.Key)
	case c.KeyFile != "":
		key, err = ton.ReadKey(c.KeyFile)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("STAGECOACH_TON_KEY: %w", err)
	}
	network := ton.Mainnet
	if c.Network == "testnet" {
		network = ton.Testnet
	}
	return ton.NewWallet(key, network)
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

func (a *common) chain() *toncenter.Client {
	c := a.config.TON
	return toncenter.New(toncenter.Options{
		URL: c.ToncenterURL, APIKey: c.ToncenterKey, RequestsPerSecond: c.ToncenterRate,
		Reserve:   sharedRate(a.store, "toncenter", c.ToncenterURL, c.ToncenterKey),
		OnLatency: outsideCall("toncenter", a.metrics.ToncenterLatency), OnResult: a.pulse.Noting(pulse.Toncenter),
	})
}

// secondSource is another operator's view of the chain; nil: none is configured. Its calls get less time than those of the first one: the
// order waits anyway.
func (a *common) secondSource() *activities.SecondSource {
	c := a.config.TON
	if c.SecondURL == "" {
		return nil
	}
	return &activities.SecondSource{
		Wait: a.config.Transactions.SecondWait, Note: a.pulse.Noting(pulse.Toncenter2),
		Chain: toncenter.New(toncenter.Options{
			URL: c.SecondURL, APIKey: c.SecondKey, RequestsPerSecond: c.SecondRate, CallTimeout: 5 * time.Second,
			Reserve: sharedRate(a.store, "toncenter-2", c.SecondURL, c.SecondKey),
		}),
	}
}

// fragment makes a client of the configured site. Prices are for everybody, also without a session.
func (a *common) fragment(o fragment.Options) *fragment.Client {
	c := a.config.Fragment
	o.URL, o.ShowSender, o.RequestsPerSecond = c.URL, c.ShowSender, c.RequestsPerSecond
	session := ""
	if len(o.Cookies) > 0 {
		session = c.Cookies
	}
	o.Reserve = sharedRate(a.store, "fragment", c.URL, session)
	o.OnLatency, o.OnResult = outsideCall("fragment", a.metrics.FragmentLatency), a.pulse.Noting(pulse.Fragment)
	return fragment.New(o)
}

// transactions is how the doors and the reconciler reach transactions. It needs no key: the record knows the wallet.
func (a *common) transactions() *service.Transactions {
	chain, shop := a.chain(), a.fragment(fragment.Options{})
	return &service.Transactions{
		Temporal: a.temporal, Store: a.store, Log: a.log, Patience: taskPatience, Most: a.config.Transactions.MaxStars, Reserve: a.config.Transactions.Reserve,
		StuckAfter: a.config.Transactions.StuckAfter,
		Price: func(ctx context.Context, stars int64) (int64, error) {
			price, err := shop.Price(ctx, int(stars))
			return int64(price), err
		},
		Balance: func(ctx context.Context, wallet string) (int64, int64, error) {
			address, _, err := ton.ParseAddress(wallet)
			if err != nil {
				return 0, 0, err
			}
			state, err := chain.Wallet(ctx, address)
			return int64(state.LastLT), int64(state.Balance), err
		},
		Friendly: func(wallet string) string {
			address, _, err := ton.ParseAddress(wallet)
			if err != nil {
				return wallet
			}
			return address.Friendly(false)
		},
	}
}
