package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Sales are measured at the pace of the real chain and the real Fragment, but so many times faster.
const (
	salesSpeed   = 6
	salesBlock   = 400 * time.Millisecond // of the real chain
	salesFinal   = time.Second            // after a block
	salesRate    = 2                      // requests to Fragment a second
	salesLatency = 80 * time.Millisecond
	salesOrders  = 60
	salesNeeds   = 4 // requests to Fragment per purchase: search, request, link, confirmation
)

// measureSales counts the purchases per minute when many customers come at once. The baseline is what Fragment's
// request rate allows a session.
func measureSales(ctx context.Context, m *machine) (rows []row, err error) {
	pace := shopPace{latency: salesLatency / salesSpeed, block: salesBlock / salesSpeed, finality: salesFinal / salesSpeed}
	err = m.withShop(ctx, pace, func(s *shop) error {
		var orders []string
		for i := range salesOrders {
			hash, err := s.deposit(ctx, fmt.Sprint("customer ", i), fmt.Sprintf("customer_%d %d", i, starsBought))
			if err != nil {
				return err
			}
			orders = append(orders, hash)
		}

		settings := s.settings()
		settings["STAGECOACH_FRAGMENT_RATE"] = strconv.Itoa(salesRate * salesSpeed)
		settings["STAGECOACH_TX_POLL_INTERVAL"] = (time.Second / salesSpeed).String()
		return m.withRig(ctx, rigOptions{settings: settings}, func(r *rig) error {
			perSecond, err := r.workOff(ctx, orders)
			allowed := fmt.Sprintf("%d requests a second to Fragment, %d a purchase", salesRate, salesNeeds)
			rows = []row{
				measured("purchases a minute, a block every 0.4 s", "", perSecond*60/salesSpeed).
					against(allowed, 60*salesRate/salesNeeds).atLeast(0.5),
			}
			return err
		})
	})

	return rows, err
}

// workOff waits until all are bought. The rate counts from the first detection to the last purchase.
func (r *rig) workOff(ctx context.Context, hashes []string) (perSecond float64, err error) {
	var first, last time.Time
	for _, hash := range hashes {
		t, err := r.bought(ctx, hash, 500*time.Millisecond)
		if err != nil {
			return 0, err
		}

		if first.IsZero() || t.CreatedAt.Before(first) {
			first = t.CreatedAt
		}
		if t.UpdatedAt.After(last) {
			last = t.UpdatedAt
		}
	}

	return float64(len(hashes)) / last.Sub(first).Seconds(), nil
}
