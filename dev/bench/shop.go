package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/fragment"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// shop is a wallet on its own chain and a Fragment that reads that chain, each in its own process. Every call to either
// takes a known time.
type shop struct {
	ground stack.Ground
	wallet *ton.Wallet

	fragment *fragment.Client // for the bare calls
	chain    *toncenter.Client
	seenLT   uint64
}

// shopPace is how a shop and its chain answer.
type shopPace struct {
	latency  time.Duration // of each call
	block    time.Duration // between two blocks of the chain; 0: a block for each message
	finality time.Duration // from a block until it is final
}

const shopRate = 10_000 // requests per second: the limits of the real ones are not measured

// withShop runs the simulators of a shop.
func (m *machine) withShop(ctx context.Context, pace shopPace, fn func(*shop) error) (err error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	s := &shop{ground: stack.Ground{Apart: startApart}}
	defer func() { err = errors.Join(err, s.ground.Close()) }()

	err = s.ground.StartShop(ctx, stack.ShopOptions{
		Seed: seed, Chain: tonsim.TonCenterOptions{Latency: pace.latency, BlockTime: pace.block, Finality: pace.finality},
		Fragment: tonsim.FragmentOptions{Settings: tonsim.FragmentSettings{LatencyMS: pace.latency.Milliseconds()}},
	})
	if err != nil {
		return err
	}

	settings := s.ground.StandInSettings()
	key, err := ton.ParseKey(settings["STAGECOACH_TON_KEY"])
	if err != nil {
		return err
	}
	if s.wallet, err = ton.NewWallet(key, ton.Mainnet); err != nil {
		return err
	}

	cookies, err := fragment.ParseCookies(settings["STAGECOACH_FRAGMENT_COOKIES"])
	if err != nil {
		return err
	}

	s.chain = toncenter.New(toncenter.Options{URL: s.ground.StandIns.TonCenter, RequestsPerSecond: shopRate})
	s.fragment = fragment.New(fragment.Options{
		URL: s.ground.StandIns.Fragment, Cookies: cookies, RequestsPerSecond: shopRate,
		Wallet: fragment.Account{
			Address: s.wallet.Address(), PublicKey: s.wallet.PublicKey(), StateInit: s.wallet.StateInit(),
			Network: s.wallet.Network(),
		},
	})

	return fn(s)
}

// settings are those of a worker that sells at this shop.
func (s *shop) settings() map[string]string {
	settings := s.ground.StandInSettings()
	settings["STAGECOACH_TX_DAILY_LIMIT"], settings["STAGECOACH_TX_REVIEW_DAILY"] = "0", "0"
	return settings
}

// deposit pays for Stars and returns the hash of the transfer.
func (s *shop) deposit(ctx context.Context, from, comment string) (string, error) {
	var made struct {
		Hash string `json:"hash"`
	}
	deposit := tonsim.Deposit{From: from, AmountNano: starsPaid, Comment: comment}
	err := send(ctx, http.MethodPost, s.ground.StandIns.TonCenter+"/_/deposits", deposit, &made)
	return made.Hash, err
}

const (
	starsBought = 50
	starsPaid   = 600_000_000 // nanoTON, for so many Stars and gas
)

// buy is the baseline: the calls of one purchase from its order to the Stars, one after the other, with nothing in
// between.
func (s *shop) buy(ctx context.Context, username string) error {
	recipient, err := s.fragment.Search(ctx, username, starsBought)
	if err != nil {
		return err
	}
	if _, err := s.fragment.Price(ctx, starsBought); err != nil {
		return err
	}

	request, err := s.fragment.Init(ctx, recipient, starsBought)
	if err != nil {
		return err
	}

	link, err := s.fragment.Link(ctx, request)
	if err != nil {
		return err
	}

	wallet, err := s.chain.Wallet(ctx, s.wallet.Address())
	if err != nil {
		return err
	}

	head, err := s.chain.Head(ctx)
	if err != nil {
		return err
	}

	signed, err := s.wallet.Sign(wallet.Seqno, head.At.Add(time.Minute).Truncate(time.Second), ton.Payment{
		To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce,
	})
	if err != nil {
		return err
	}
	if _, err := s.chain.Broadcast(ctx, signed.BoC); err != nil {
		return err
	}

	return s.see(ctx, link.ConfirmID, signed.BoC)
}

// see makes the calls that follow a payment.
func (s *shop) see(ctx context.Context, confirmID string, boc []byte) error {
	if _, err := s.chain.Head(ctx); err != nil {
		return err
	}

	found, _, err := s.chain.Transactions(ctx, toncenter.Page{Account: s.wallet.Address(), FromLT: s.seenLT + 1})
	if err != nil {
		return err
	}
	if len(found) == 0 || len(found[len(found)-1].Out) != 1 {
		return errors.New("the bare payment is not on the chain")
	}

	paid := found[len(found)-1]
	s.seenLT = paid.LT
	if _, err := s.chain.TransactionsByMessage(ctx, paid.Out[0].Hash); err != nil {
		return err
	}
	if err := s.fragment.Confirm(ctx, confirmID, boc); err != nil {
		return err
	}

	state, err := s.fragment.State(ctx, "processing")
	if err == nil && state.NeedUpdate {
		state, err = s.fragment.State(ctx, state.Mode)
	}

	if err == nil && !state.Done() {
		err = errors.New("the bare purchase is not done")
	}
	return err
}

// buyBare makes some bare purchases and returns how long each took in milliseconds. The first opens the connections and
// is not measured.
func (s *shop) buyBare(ctx context.Context, howMany int) (took []float64, err error) {
	for i := range howMany + 1 {
		if _, err := s.deposit(ctx, "somebody", "bare"); err != nil {
			return nil, err
		}

		unseen := toncenter.Page{Account: s.wallet.Address(), FromLT: s.seenLT + 1}
		if found, _, err := s.chain.Transactions(ctx, unseen); err == nil && len(found) > 0 {
			s.seenLT = found[len(found)-1].LT
		}

		began := time.Now()
		if err := s.buy(ctx, fmt.Sprintf("reader_%d", i)); err != nil {
			return nil, fmt.Errorf("a bare purchase: %w", err)
		}

		if i > 0 {
			took = append(took, milliseconds(time.Since(began)))
		}
	}

	return took, nil
}
