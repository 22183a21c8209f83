package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/fragment"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// shop is a wallet on a chain of its own and a Fragment that watches that chain, each in a process of its own. Every
// call of either takes a known time.
type shop struct {
	key         string // of the wallet, in hex
	wallet      *ton.Wallet
	chainURL    string
	fragmentURL string
	address     string // where Fragment is paid

	fragment *fragment.Client // for the bare calls
	chain    *toncenter.Client
	seenLT   uint64
}

// chainOptions are those of the stand-in for the chain that a child is told.
type chainOptions struct {
	PublicKey string
	Latency   time.Duration
}

const (
	shopSession = "stel_ssid=bench; stel_dt=0; stel_token=bench; stel_ton_token=bench"
	shopRate    = 10_000 // requests per second: the limits of the real ones are not what is measured
)

// withShop runs the stand-ins of a shop. What happens on its chain happens at once and for good.
func (m *machine) withShop(ctx context.Context, latency time.Duration, fn func(*shop) error) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}

	s := &shop{key: hex.EncodeToString(private.Seed())}
	key, err := ton.ParseKey(s.key)
	if err != nil {
		return err
	}
	if s.wallet, err = ton.NewWallet(key, ton.Mainnet); err != nil {
		return err
	}

	chain, url, err := startChild("toncenter", chainOptions{PublicKey: hex.EncodeToString(public), Latency: latency})
	if err != nil {
		return err
	}
	defer chain.stop()

	s.chainURL = url
	seller, url, err := startChild("fragment", tonsim.FragmentOptions{
		TonCenterURL: s.chainURL, Settings: tonsim.FragmentSettings{LatencyMS: latency.Milliseconds()},
	})
	if err != nil {
		return err
	}
	defer seller.stop()

	s.fragmentURL = url
	var about struct {
		Shop string `json:"shop"`
	}
	if err := get(ctx, s.chainURL+"/_/chain", &about); err != nil {
		return err
	}

	s.address = about.Shop
	cookies, err := fragment.ParseCookies(shopSession)
	if err != nil {
		return err
	}

	s.chain = toncenter.New(toncenter.Options{URL: s.chainURL, RequestsPerSecond: shopRate})
	s.fragment = fragment.New(fragment.Options{URL: s.fragmentURL, Cookies: cookies, RequestsPerSecond: shopRate, Wallet: fragment.Account{
		Address: s.wallet.Address(), PublicKey: s.wallet.PublicKey(), StateInit: s.wallet.StateInit(),
		Network: s.wallet.Network(),
	}})

	return fn(s)
}

func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return answer(request, into)
}

// settings let a worker sell at this shop.
func (s *shop) settings() map[string]string {
	return map[string]string{
		"STAGECOACH_TON_KEY": s.key, "STAGECOACH_TONCENTER_URL": s.chainURL, "STAGECOACH_FRAGMENT_URL": s.fragmentURL,
		"STAGECOACH_FRAGMENT_COOKIES": shopSession, "STAGECOACH_TX_ALLOW": s.address, "STAGECOACH_TX_WHOLE_HISTORY": "true",
		"STAGECOACH_TONCENTER_RATE": fmt.Sprint(shopRate), "STAGECOACH_FRAGMENT_RATE": fmt.Sprint(shopRate), "STAGECOACH_TX_DAILY_LIMIT": "0",
	}
}

// deposit pays for Stars and gives the hash of the transfer.
func (s *shop) deposit(ctx context.Context, from, comment string) (string, error) {
	var made struct {
		Hash string `json:"hash"`
	}
	deposit := tonsim.Deposit{From: from, AmountNano: starsPaid, Comment: comment}
	err := send(ctx, http.MethodPost, s.chainURL+"/_/deposits", deposit, &made)
	return made.Hash, err
}

const (
	starsBought = 50
	starsPaid   = 600_000_000 // nanoTON, for so many Stars and gas
)

// buy makes the calls of one purchase from its order to the Stars, one after the other, with nothing in between: the
// baseline.
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

	link, err := s.fragment.Link(ctx, request.ID)
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

	found, err := s.chain.Transactions(ctx, toncenter.Page{Account: s.wallet.Address(), FromLT: s.seenLT + 1})
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

// buyBare makes some bare purchases and gives how long each took in milliseconds. The first makes connections and does
// not count.
func (s *shop) buyBare(ctx context.Context, howMany int) (took []float64, err error) {
	for i := range howMany + 1 {
		if _, err := s.deposit(ctx, "somebody", "bare"); err != nil {
			return nil, err
		}

		if found, err := s.chain.Transactions(ctx, toncenter.Page{Account: s.wallet.Address(), FromLT: s.seenLT + 1}); err == nil && len(found) > 0 {
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
