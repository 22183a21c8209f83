package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

const (
	backlogSize     = 1000
	backlogSmall    = 9  // senders who come last, with few transfers each
	backlogEach     = 10 // transfers of each of them
	backlogLatency  = 5 * time.Millisecond
	backlogBare     = 40
	backlogPatience = 15 * time.Minute
)

// measureBacklog lets a worker find transfers of which one sender made most before the others came, and counts how fast they are
// worked off, and when the others had theirs.
func (m *machine) measureBacklog(ctx context.Context) (rows []row, err error) {
	err = m.withShop(ctx, backlogLatency, func(bare *shop) error {
		return m.withShop(ctx, backlogLatency, func(s *shop) error {
			alone, err := bare.buyBare(ctx, backlogBare/2)
			if err != nil {
				return err
			}
			hashes, err := s.fillBacklog(ctx)
			if err != nil {
				return err
			}
			var perSecond, lastSmall float64
			err = m.withRig(ctx, rigOptions{settings: s.settings()}, func(r *rig) (err error) {
				perSecond, lastSmall, err = r.workOff(ctx, hashes)
				return err
			})
			if err != nil {
				return err
			}
			more, err := bare.buyBare(ctx, backlogBare/2)
			if err != nil {
				return err
			}
			var bareRate []float64
			for _, took := range append(alone, more...) {
				bareRate = append(bareRate, 1000/took)
			}
			rows = []row{
				measured(fmt.Sprintf("a backlog of %d transactions", backlogSize), "transactions/s", perSecond).against(buyAgainst, bareRate...),
				measured(fmt.Sprintf("the last of %d whose senders came late, in turn", backlogSmall*backlogEach), "", lastSmall).
					against("with turns from the first on", backlogEach*(backlogSmall+1)),
			}
			return nil
		})
	})
	return rows, err
}

// fillBacklog makes the transfers: one sender's, then the others'.
func (s *shop) fillBacklog(ctx context.Context) (hashes backlog, err error) {
	hashes.small = map[string]bool{}
	for i := range backlogSize - backlogSmall*backlogEach {
		hash, err := s.deposit(ctx, "a big one", fmt.Sprintf("big_%d %d", i, starsBought))
		if err != nil {
			return hashes, err
		}
		hashes.all = append(hashes.all, hash)
	}
	for i := range backlogSmall * backlogEach {
		hash, err := s.deposit(ctx, fmt.Sprint("a small one ", i%backlogSmall), fmt.Sprintf("small_%d %d", i, starsBought))
		if err != nil {
			return hashes, err
		}
		hashes.all, hashes.small[hash] = append(hashes.all, hash), true
	}
	return hashes, nil
}

// backlog are the hashes of transfers.
type backlog struct {
	all   []string
	small map[string]bool // of senders with few
}

// workOff waits until all are bought. The rate counts from the first that was detected to the last that was processed; the
// turn of the last small sender's transfer counts from 1.
func (r *rig) workOff(ctx context.Context, hashes backlog) (perSecond, lastSmall float64, err error) {
	var first, last, lastOfSmall time.Time
	ended := make([]time.Time, 0, len(hashes.all))
	deadline := time.Now().Add(backlogPatience)
	for _, hash := range hashes.all {
		t, err := r.bought(ctx, hash, deadline)
		if err != nil {
			return 0, 0, err
		}
		ended = append(ended, t.UpdatedAt)
		if first.IsZero() || t.CreatedAt.Before(first) {
			first = t.CreatedAt
		}
		last = later(last, t.UpdatedAt)
		if hashes.small[hash] {
			lastOfSmall = later(lastOfSmall, t.UpdatedAt)
		}
	}
	for _, at := range ended {
		if !at.After(lastOfSmall) {
			lastSmall++
		}
	}
	return float64(len(ended)) / last.Sub(first).Seconds(), lastSmall, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// bought waits until a transaction is processed.
func (r *rig) bought(ctx context.Context, hash string, deadline time.Time) (store.Transaction, error) {
	for ; ; time.Sleep(500 * time.Millisecond) {
		t, err := r.store.TransactionByHash(ctx, hash)
		switch {
		case err == nil && t.State == lifecycle.TransactionProcessed:
			return t, nil
		case ctx.Err() != nil:
			return t, ctx.Err()
		case time.Now().After(deadline), t.State == lifecycle.TransactionFailed:
			return t, errors.Join(fmt.Errorf("a transaction of the backlog is %q: %s", t.State, t.ErrorMessage), err)
		}
	}
}
