package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"stagecoach/dev/sim"
)

// The wallet is measured at the pace of the real chain and the real Fragment, but so many times as fast.
const (
	walletSpeed   = 6
	walletBlock   = 5 * time.Second // of the real chain
	walletFinal   = 5 * time.Second
	walletRate    = 2 // requests to Fragment a second
	walletLatency = 80 * time.Millisecond
	walletFew     = 5 // purchases, when each keeps the wallet to its end
	walletMany    = 120
	walletNeeds   = 4 // requests to Fragment that a purchase needs: search, request, link, confirmation
	walletPaces   = "with a block every 5 s and 5 s to finality"
)

// measureWallet counts the purchases a minute of many customers who come at once: with the wallet kept by each purchase
// to its end, and shared. It is compared with what Fragment's rate of requests allows.
func measureWallet(ctx context.Context, m *machine) (rows []row, err error) {
	kept, _, err := m.sellAtOnce(ctx, walletFew, (*shop).settings)
	if err != nil {
		return nil, err
	}

	shared, requests, err := m.sellAtOnce(ctx, walletMany, (*shop).shared)
	if err != nil {
		return nil, err
	}

	allowed := fmt.Sprintf("%d requests a second to Fragment, %d a purchase", walletRate, walletNeeds)
	return []row{
		measured("purchases a minute "+walletPaces+", the wallet shared", "", shared).
			against(allowed, 60*walletRate/walletNeeds).atLeast(0.9),
		measured("purchases a minute "+walletPaces+", kept by each to its end", "", kept).
			against(allowed, 60*walletRate/walletNeeds),
		measured("requests to Fragment of a purchase, the wallet shared", "requests", requests).against("at least", walletNeeds),
	}, nil
}

// sellAtOnce lets customers order at once. It returns the purchases a minute, as if in real time, and the requests to
// Fragment that each took.
func (m *machine) sellAtOnce(
	ctx context.Context, customers int, settingsOf func(*shop) map[string]string,
) (perMinute, requests float64, err error) {
	pace := shopPace{
		latency: walletLatency / walletSpeed, block: walletBlock / walletSpeed, finality: walletFinal / walletSpeed,
	}
	err = m.withShop(ctx, pace, func(s *shop) error {
		var orders backlog
		for i := range customers {
			hash, err := s.deposit(ctx, fmt.Sprint("customer ", i), fmt.Sprintf("customer_%d %d", i, starsBought))
			if err != nil {
				return err
			}
			orders.all = append(orders.all, hash)
		}

		settings := settingsOf(s)
		settings["STAGECOACH_FRAGMENT_RATE"] = strconv.Itoa(walletRate * walletSpeed)
		settings["STAGECOACH_TX_POLL_INTERVAL"] = (time.Second / walletSpeed).String()
		return m.withRig(ctx, rigOptions{settings: settings}, func(r *rig) error {
			perSecond, _, err := r.workOff(ctx, orders)
			if err != nil {
				return err
			}

			asked, err := s.requests(ctx)
			perMinute, requests = perSecond*60/walletSpeed, asked/float64(customers)
			return err
		})
	})

	return perMinute, requests, err
}

// requests counts the calls of Fragment.
func (s *shop) requests(ctx context.Context) (float64, error) {
	var log struct {
		Items []sim.Request `json:"items"`
	}
	err := send(ctx, http.MethodGet, s.ground.StandIns.Fragment+"/_/requests", nil, &log)
	return float64(len(log.Items)), err
}
