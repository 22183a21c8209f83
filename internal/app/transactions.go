package app

import (
	"context"
	"fmt"
	"slices"

	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// Wallet opens the paying wallet; nil: none is configured.
func (a *Connections) Wallet() (*ton.Wallet, error) {
	c := a.Config.TON
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

func (a *Connections) Chain() *toncenter.Client {
	c := a.Config.TON
	return toncenter.New(toncenter.Options{
		URL: c.ToncenterURL, APIKey: c.ToncenterKey, RequestsPerSecond: c.ToncenterRate,
		Observer: a.Observer(operations.Toncenter, a.Metrics.Transaction().ToncenterLatency),
	})
}

// Fragment makes a client of the configured site. Prices need no session.
func (a *Connections) Fragment(o fragment.Options) *fragment.Client {
	c := a.Config.Fragment
	o.URL, o.RequestsPerSecond = c.URL, c.RequestsPerSecond
	o.Observer = a.Observer(operations.Fragment, a.Metrics.Transaction().FragmentLatency)
	return fragment.New(o)
}

// Shop makes the Fragment client that buys, with the configured session and a wallet.
func (a *Connections) Shop(wallet *ton.Wallet) (*fragment.Client, error) {
	cookies, err := fragment.ParseCookies(a.Config.Fragment.Cookies)
	if err != nil {
		return nil, fmt.Errorf("STAGECOACH_FRAGMENT_COOKIES: %w", err)
	}
	return a.Fragment(fragment.Options{Cookies: cookies, Wallet: fragment.Account{
		Address: wallet.Address(), PublicKey: wallet.PublicKey(), StateInit: wallet.StateInit(), Network: wallet.Network(),
	}}), nil
}

// Transactions makes the service of transactions. It needs no key: the record knows the wallet.
func (a *Connections) Transactions() *transactions.Service {
	ended := a.Metrics.Transaction().Ended
	startAtZero(ended, lifecycle.TransactionProcessed, lifecycle.TransactionFailed)

	chain, prices := a.Chain(), a.Fragment(fragment.Options{})
	return &transactions.Service{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Patience: requestPatience, Most: stars.Most,
		Reserve:    int64(stars.Reserve),
		Slippage:   stars.Slippage,
		Pages:      a.Config.API.PublicURL,
		StuckAfter: lifecycle.TransactionStuckAfter,
		Failures: transactions.FailurePolicy{
			Refund: a.Config.Transactions.Refund, RetryFor: a.Config.Transactions.RetryFor,
			RetryPause: a.Config.Transactions.RetryPause,
		},
		OnEnded: func(state lifecycle.TransactionState) {
			ended.WithLabelValues(string(state)).Inc()
		},
		Price: func(ctx context.Context, number int64) (int64, error) {
			price, err := prices.Price(ctx, int(number))
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

// paymentChecks are what a paying worker needs.
func (a *Connections) paymentChecks() ([]doctor.Check, error) {
	if !slices.ContainsFunc(lifecycle.PaymentQueues, a.Config.Worker.Serves) {
		return nil, nil
	}

	wallet, err := a.Wallet()
	if err != nil {
		return nil, err
	}
	if wallet == nil {
		return []doctor.Check{doctor.Off(doctor.Wallet, "there is no key", doctor.AboutWallet)}, nil
	}

	shop, err := a.Shop(wallet)
	if err != nil {
		return nil, err
	}

	own := wallet.Address()
	return []doctor.Check{a.chainCheck(), doctor.OfWallet(own, a.Chain()), doctor.OfFragment(shop, own)}, nil
}
