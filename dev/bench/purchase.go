package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

const (
	buyLatency  = 20 * time.Millisecond // of each call to another system
	buySamples  = 20
	buyPoll     = time.Second // how soon a transfer is detected; later steps wait for no poll
	buyPatience = 15 * time.Minute
	buyAgainst  = "the same calls alone"
)

// measurePurchase buys Stars, one purchase after the other.
func measurePurchase(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withShop(ctx, shopPace{latency: buyLatency}, func(bare *shop) error {
		return m.withShop(ctx, shopPace{latency: buyLatency}, func(s *shop) error {
			settings := s.settings()
			settings["STAGECOACH_TX_POLL_INTERVAL"] = buyPoll.String()
			return m.withRig(ctx, rigOptions{settings: settings}, func(r *rig) (err error) {
				rows, err = (&buyer{rig: r, shop: s, bare: bare}).measure(ctx)
				return err
			})
		})
	})
	return rows, err
}

// buyer buys at one shop through Stagecoach, and directly at another one.
type buyer struct {
	*rig
	shop, bare *shop
}

func (b *buyer) measure(ctx context.Context) (rows []row, err error) {
	if _, err := b.buyOne(ctx, 0); err != nil { // opens the connections, and is not measured
		return nil, err
	}

	var ours, bare []float64
	for i := range buySamples {
		took, err := b.buyOne(ctx, i)
		if err != nil {
			return nil, err
		}

		alone, err := b.bare.buyBare(ctx, 1)
		if err != nil {
			return nil, err
		}

		ours, bare = append(ours, took), append(bare, alone...)
	}

	return []row{
		measured("a transaction, detected to processed, p50", "ms", ours...).against(buyAgainst, bare...).atMostTimes(1),
		measured(
			"a transaction, detected to processed, p99", "ms", quantile(ours, 0.99),
		).against(buyAgainst, quantile(bare, 0.99)),
	}, nil
}

// buyOne sends TON, waits until the Stars are bought and the workflow has ended, and returns how long it took.
func (b *buyer) buyOne(ctx context.Context, reader int) (took float64, err error) {
	hash, err := b.shop.deposit(ctx, fmt.Sprint("reader ", reader), fmt.Sprintf("@reader_%d %d", reader, starsBought))
	if err != nil {
		return 0, err
	}

	bought, err := b.bought(ctx, hash, 10*time.Millisecond)
	if err != nil {
		return 0, err
	}
	if err := b.client.GetWorkflow(ctx, bought.WorkflowID(), "").Get(ctx, nil); err != nil {
		return 0, err
	}
	return b.fromDetection(ctx, hash)
}

// fromDetection returns how long a transaction took according to the record, in milliseconds.
func (b *buyer) fromDetection(ctx context.Context, hash string) (float64, error) {
	events, err := b.store.Transactions.EventsOf(ctx, hash)
	if err != nil {
		return 0, err
	}
	if len(events) < 2 {
		return 0, fmt.Errorf("transaction %.8s has %d events", hash, len(events))
	}

	first, last := events[0], events[len(events)-1]
	if first.Type != lifecycle.TransactionDetected || last.Type != lifecycle.TransactionFinished {
		return 0, fmt.Errorf("transaction %.8s has other events than it should have", hash)
	}
	return milliseconds(last.CreatedAt.Sub(first.CreatedAt)), nil
}

// bought waits until a transaction is processed.
func (r *rig) bought(ctx context.Context, hash string, poll time.Duration) (transaction.Transaction, error) {
	for deadline := time.Now().Add(buyPatience); ; time.Sleep(poll) {
		t, err := r.store.Transactions.ByHash(ctx, hash)
		switch {
		case err == nil && t.State == lifecycle.TransactionProcessed:
			return t, nil
		case ctx.Err() != nil:
			return t, ctx.Err()
		case time.Now().After(deadline), t.State == lifecycle.TransactionFailed:
			return t, errors.Join(fmt.Errorf("a transaction is %q: %s", t.State, t.ErrorMessage), err)
		}
	}
}
