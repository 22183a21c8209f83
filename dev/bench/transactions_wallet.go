package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/internal/lifecycle"
)

// The wallet is measured at the pace of the real chain and the real Fragment, but so many times as fast.
const (
	walletSpeed   = 6
	walletBlock   = 5 * time.Second // of the real chain
	walletFinal   = 5 * time.Second
	walletRate    = 2 // requests to Fragment a second
	walletLatency = 80 * time.Millisecond
	walletFew     = 5 // purchases, when each keeps the wallet to its end
	walletMany    = 90
	walletNeeds   = 4 // requests to Fragment that a purchase needs: search, request, link, confirmation
	walletPaces   = "with a block every 5 s and 5 s to finality"
)

// measureWallet counts the purchases a minute of many customers who come at once: with the wallet kept by each purchase
// to its end, shared, and with two wallets that are shared. It is compared with what Fragment's rate of requests allows a
// session.
func measureWallet(ctx context.Context, m *machine) (rows []row, err error) {
	kept, _, err := m.sellAtOnce(ctx, 1, walletFew, (*shop).settings)
	if err != nil {
		return nil, err
	}

	shared, requests, err := m.sellAtOnce(ctx, 1, walletMany, (*shop).shared)
	if err != nil {
		return nil, err
	}

	two, _, err := m.sellAtOnce(ctx, 2, walletMany, (*shop).shared)
	if err != nil {
		return nil, err
	}

	allowed := fmt.Sprintf("%d requests a second to Fragment, %d a purchase", walletRate, walletNeeds)
	return []row{
		measured("purchases a minute "+walletPaces+", the wallet shared", "", shared).
			against(allowed, 60*walletRate/walletNeeds).atLeast(0.9),
		measured("purchases a minute "+walletPaces+", kept by each to its end", "", kept).
			against(allowed, 60*walletRate/walletNeeds),
		measured("purchases a minute of two wallets", "", two).against("one wallet", shared).atLeast(1.9),
		measured("requests to Fragment of a purchase, the wallet shared", "requests", requests).against("at least", walletNeeds),
	}, nil
}

// sellAtOnce lets customers order of each of some wallets at once. It returns the purchases a minute of all wallets, as if
// in real time, and the requests to Fragment that each took at the first one.
func (m *machine) sellAtOnce(
	ctx context.Context, wallets, customers int, settingsOf func(*shop) map[string]string,
) (perMinute, requests float64, err error) {
	err = m.withShops(ctx, wallets, nil, func(shops []*shop) error {
		var orders backlog
		for n, s := range shops {
			for i := range customers {
				hash, err := s.deposit(ctx, fmt.Sprint("customer ", i), fmt.Sprintf("customer_%d_%d %d", n, i, starsBought))
				if err != nil {
					return err
				}
				orders.all = append(orders.all, hash)
			}
		}

		of := func(s *shop) map[string]string {
			settings := settingsOf(s)
			settings["STAGECOACH_FRAGMENT_RATE"] = strconv.Itoa(walletRate * walletSpeed)
			settings["STAGECOACH_TX_POLL_INTERVAL"] = (time.Second / walletSpeed).String()
			return settings
		}

		return m.withRig(ctx, rigOptions{withoutWorker: true}, func(r *rig) error {
			for i, s := range shops[1:] {
				settings := of(s)
				settings["STAGECOACH_TX_WALLET"] = fmt.Sprint("wallet-", i+2)
				settings["STAGECOACH_WORKER_QUEUES"] = strings.Join(lifecycle.PaymentQueues, ",")
				cashier, err := r.startProgram(ctx, "worker", settings, `"worker runs"`)
				if err != nil {
					return err
				}
				defer cashier.stop()
			}

			// The worker for all queues comes last: all wallets are watched from then on.
			if err := r.startWorker(ctx, of(shops[0])); err != nil {
				return err
			}
			perSecond, _, err := r.workOff(ctx, orders)
			if err != nil {
				return err
			}

			asked, err := shops[0].requests(ctx)
			perMinute, requests = perSecond*60/walletSpeed, asked/float64(customers)
			return err
		})
	})

	return perMinute, requests, err
}

// withShops runs so many shops beside those that run already, each with a chain, a wallet and a session of its own.
func (m *machine) withShops(ctx context.Context, more int, shops []*shop, fn func([]*shop) error) error {
	if more == 0 {
		return fn(shops)
	}
	pace := shopPace{
		latency: walletLatency / walletSpeed, block: walletBlock / walletSpeed, finality: walletFinal / walletSpeed,
	}
	return m.withShop(ctx, pace, func(s *shop) error { return m.withShops(ctx, more-1, append(shops, s), fn) })
}

// requests counts the calls of Fragment.
func (s *shop) requests(ctx context.Context) (float64, error) {
	var log struct {
		Items []sim.Request `json:"items"`
	}
	err := send(ctx, http.MethodGet, s.ground.StandIns.Fragment+"/_/requests", nil, &log)
	return float64(len(log.Items)), err
}
