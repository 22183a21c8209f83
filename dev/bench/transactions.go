package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

const (
	buyLatency  = 20 * time.Millisecond // of each call to another system
	buySamples  = 20
	buyPoll     = time.Second // how soon a transfer is seen; later steps wait for no poll
	buyPatience = time.Minute
	buyAgainst  = "the same calls alone"
	monitorFor  = 30 * time.Second // at least, for the count of the monitor's heartbeats
)

// measureTransactions buys Stars one at a time, counts what that leaves in Temporal, and processes a backlog.
func measureTransactions(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withShop(ctx, shopPace{latency: buyLatency}, func(bare *shop) error {
		return m.withShop(ctx, shopPace{latency: buyLatency}, func(s *shop) error {
			settings := s.settings()
			settings["STAGECOACH_TX_POLL_INTERVAL"] = buyPoll.String()
			settings["STAGECOACH_TX_RETRY_INTERVAL"] = "100ms"
			return m.withRig(ctx, rigOptions{settings: settings}, func(r *rig) (err error) {
				rows, err = (&buyer{rig: r, settings: settings, shop: s, bare: bare}).measure(ctx)
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}

	more, err := m.measureBacklog(ctx)
	return append(rows, more...), err
}

// buyer buys at one shop through Stagecoach, and at another one without.
type buyer struct {
	*rig
	settings   map[string]string // of the worker
	shop, bare *shop
}

func (b *buyer) measure(ctx context.Context) (rows []row, err error) {
	if err := b.startBareWorker(); err != nil {
		return nil, err
	}

	run, err := b.bareJob(ctx, bareWorkflow, 1)
	if err != nil {
		return nil, err
	}

	nothing, err := b.cost(ctx, run.GetID())
	if err != nil {
		return nil, err
	}
	if _, err := b.buyOne(ctx, "reader_0"); err != nil { // opens the connections, and is not measured
		return nil, err
	}

	monitor := b.watchMonitor(ctx)
	var ours, bare []float64
	var last string
	for i := range buySamples {
		if last, err = b.buyOne(ctx, fmt.Sprintf("reader_%d", i)); err != nil {
			return nil, err
		}

		took, err := b.fromDetection(ctx, last)
		if err != nil {
			return nil, err
		}

		alone, err := b.bare.buyBare(ctx, 1)
		if err != nil {
			return nil, err
		}

		ours, bare = append(ours, took), append(bare, alone...)
	}

	bought, err := b.cost(ctx, lifecycle.TransactionID(last))
	if err != nil {
		return nil, err
	}

	retried, err := b.buyAfterFailure(ctx)
	if err != nil {
		return nil, err
	}

	perHour, err := monitor()
	if err != nil {
		return nil, err
	}
	return []row{
		measured("a transaction, detected to processed, p50", "ms", ours...).against(buyAgainst, bare...).atMostTimes(1),
		measured(
			"a transaction, detected to processed, p99", "ms", quantile(ours, 0.99),
		).against(buyAgainst, quantile(bare, 0.99)),
		measured("a transaction", "events", bought.events).against(bareName, nothing.events).atMost(40),
		measured("a transaction", "actions", bought.actions).against(bareName, nothing.actions),
		measured("a transaction that failed and was retried", "events", retried.events).against(bareName, nothing.events),
		measured("a transaction that failed and was retried", "actions", retried.actions).against(bareName, nothing.actions),
		measured("the wallet's monitor, per hour", "events", perHour.events),
		measured("the wallet's monitor, per hour", "actions", perHour.actions),
		measured("the wallet's monitor, per hour", "heartbeats", perHour.heartbeats),
	}, nil
}

// buyOne sends TON and waits until the Stars are bought.
func (b *buyer) buyOne(ctx context.Context, username string) (hash string, err error) {
	if hash, err = b.shop.deposit(ctx, username, fmt.Sprintf("@%s %d", username, starsBought)); err != nil {
		return "", err
	}
	_, err = b.becomes(ctx, hash, lifecycle.TransactionProcessed)
	return hash, err
}

// becomes waits until a transaction has a status; for a final one also until its workflow has ended.
func (b *buyer) becomes(
	ctx context.Context, hash string, status lifecycle.TransactionState,
) (t transaction.Transaction, err error) {
	for deadline := time.Now().Add(buyPatience); ; time.Sleep(10 * time.Millisecond) {
		t, err = b.store.TransactionByHash(ctx, hash)
		switch {
		case err == nil && t.State == status:
			if status == lifecycle.TransactionProcessed {
				err = b.client.GetWorkflow(ctx, t.WorkflowID(), "").Get(ctx, nil)
			}
			return t, err
		case time.Now().After(deadline):
			return t, errors.Join(fmt.Errorf("the transaction is %q %q and not %s", t.State, t.ErrorMessage, status), err)
		}
	}
}

// fromDetection returns how long a transaction took, in milliseconds, by the record.
func (b *buyer) fromDetection(ctx context.Context, hash string) (float64, error) {
	events, err := b.store.EventsOfTransaction(ctx, hash)
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

// buyAfterFailure counts what a transaction leaves that fails in all its attempts and succeeds after an administrator's
// retry.
func (b *buyer) buyAfterFailure(ctx context.Context) (cost, error) {
	const username = "shy_reader"
	users := b.shop.ground.StandIns.Fragment + "/_/users"
	if err := post(ctx, users, map[string]string{"username": username, "kind": "not_giftable"}); err != nil {
		return cost{}, err
	}

	hash, err := b.shop.deposit(ctx, username, fmt.Sprintf("%s %d", username, starsBought))
	if err != nil {
		return cost{}, err
	}
	if _, err := b.becomes(ctx, hash, lifecycle.TransactionFailed); err != nil {
		return cost{}, err
	}
	if err := post(ctx, users, map[string]string{"username": username, "kind": "user"}); err != nil {
		return cost{}, err
	}

	admin, err := b.store.CreateUser(
		ctx, account.User{Name: "Bench", Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken(),
	)
	if err != nil {
		return cost{}, err
	}
	if _, err := b.purchases.Retry(ctx, admin, hash, "", ""); err != nil {
		return cost{}, err
	}
	if _, err := b.becomes(ctx, hash, lifecycle.TransactionProcessed); err != nil {
		return cost{}, err
	}

	return b.cost(ctx, lifecycle.TransactionID(hash))
}

// watchMonitor counts the monitor's heartbeats until the returned function is called. That function ends the monitor's
// run and returns the cost of an hour: one run, with the heartbeats of an hour.
func (b *buyer) watchMonitor(ctx context.Context) func() (cost, error) {
	id := lifecycle.TonMonitorID(b.shop.wallet.Address().Raw())
	watching, stop := context.WithCancel(ctx)
	heartbeats := make(chan float64, 1)
	began := time.Now()
	go func() { heartbeats <- b.countMonitorHeartbeats(watching, id) }()
	return func() (total cost, err error) {
		defer stop()
		run, err := b.client.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return total, err
		}

		runID := run.WorkflowExecutionInfo.Execution.RunId
		time.Sleep(monitorFor - time.Since(began))
		watched := time.Since(began)
		stop()
		seen := <-heartbeats
		b.worker.stop() // the run continues as new, as it does after an hour
		if err := b.startWorker(ctx, b.settings); err != nil {
			return total, err
		}

		closed := b.client.GetWorkflowHistory(ctx, id, runID, true, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
		for closed.HasNext() {
			if _, err := closed.Next(); err != nil {
				return total, err
			}
		}

		total, err = b.costOfRun(ctx, id, runID)
		total.heartbeats = seen / watched.Hours()
		total.actions += total.heartbeats
		return total, err
	}
}

// countMonitorHeartbeats counts the heartbeats of a workflow's only activity that reach the server.
func (b *buyer) countMonitorHeartbeats(ctx context.Context, workflowID string) (seen float64) {
	var last time.Time
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		answer, err := b.client.DescribeWorkflowExecution(ctx, workflowID, "")
		if err != nil || len(answer.PendingActivities) != 1 {
			continue
		}
		at := answer.PendingActivities[0].LastHeartbeatTime.AsTime()
		if !last.IsZero() && at.After(last) {
			seen++
		}
		last = at
	}

	return seen
}

const (
	backlogSize     = 100
	backlogSmall    = 9 // senders who come last, with few transfers each
	backlogEach     = 5 // transfers of each of them
	backlogLatency  = 5 * time.Millisecond
	backlogBare     = 40
	backlogPatience = 15 * time.Minute
)

// measureBacklog starts a worker on a backlog, most of whose transfers one sender made before the others. It measures
// the rate, and when the others' transfers were processed.
func (m *machine) measureBacklog(ctx context.Context) (rows []row, err error) {
	err = m.withShop(ctx, shopPace{latency: backlogLatency}, func(bare *shop) error {
		return m.withShop(ctx, shopPace{latency: backlogLatency}, func(s *shop) error {
			alone, err := bare.buyBare(ctx, backlogBare/2)
			if err != nil {
				return err
			}

			hashes, err := s.fillBacklog(ctx)
			if err != nil {
				return err
			}

			var perSecond, lastSmall float64
			err = m.withRig(ctx, rigOptions{settings: s.shared()}, func(r *rig) (err error) {
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
				measured(
					fmt.Sprintf("a backlog of %d transactions", backlogSize), "transactions/s", perSecond,
				).against(buyAgainst, bareRate...).atLeast(0.9),
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

// workOff waits until all are bought. The rate counts from the first detection to the last processed transaction.
// lastSmall is the place in the order of processing of the last small sender's transfer; the first is 1.
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
func (r *rig) bought(ctx context.Context, hash string, deadline time.Time) (transaction.Transaction, error) {
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
