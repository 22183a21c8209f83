// Package run makes the worker: workflows and activities on each queue that the process serves.
package run

import (
	"context"
	"log/slog"
	"time"

	"stagecoach/internal/app"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
)

// cancelNotice is how soon a running activity hears of a cancel: the most that the SDK holds a heartbeat back.
const cancelNotice = 3 * time.Second

// restartEvery is how long a singleton that an operator has ended stays away at most.
const restartEvery = 20 * time.Second

// process is one worker.
type process struct{ *app.Connections }

// Run runs workflows and activities until ctx ends.
func Run(ctx context.Context, c config.Config, log *slog.Logger) error {
	connections, err := app.Connect(ctx, c, log, "worker", (*codec.Codec).ApplyToWorkers)
	if err != nil {
		return err
	}

	p := process{connections}
	defer p.Close()
	defer p.KeepAlive(ctx)()

	parts, err := p.parts()
	if err != nil {
		return err
	}

	if parts.monitor != nil { // the limits may be others than before
		if err := p.Store.RetryDeferred(ctx); err != nil {
			return err
		}
	}

	stop, err := startAll(p.workers(parts)...)
	if err != nil {
		return err
	}
	defer stop()

	if serves(c, lifecycle.MainQueue) {
		if err := p.startSingletons(ctx); err != nil {
			return err
		}
	}

	if parts.monitor != nil && serves(c, lifecycle.PaymentQueue) {
		err := p.keepRunning(ctx, "the wallet's monitor", func() error {
			return parts.orders.StartMonitor(ctx, parts.orders.Monitored)
		})
		if err != nil {
			return err
		}
	}

	defer p.Examine(ctx, "worker", p.workerChecks(parts))()
	if c.Worker.MetricsAddr != "" {
		stop := app.ServeMetrics(c.Worker.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}

	log.Info("worker runs", "queues", c.Worker.Queues, "key", parts.monitor != nil, "parallel", c.Delivery.Parallel)
	<-ctx.Done()
	log.Info("worker stops", "within", c.Worker.StopTimeout.String())
	return nil
}

// startSingletons starts the workflows of which there is one, but for the wallet's monitor.
func (p process) startSingletons(ctx context.Context) error {
	err := p.keepRunning(ctx, "the reconciler", func() error {
		return temporalio.StartSingleton(ctx, p.Temporal, reconciler.WorkflowType, reconciler.WorkflowID, reconciler.Title)
	})
	if err != nil {
		return err
	}

	// A server that has just started serves no schedules until its own worker, on which they run, polls.
	err = app.RetryWhileUnavailable(ctx, p.Log, "Temporal's schedules", func() error {
		return retention.EnsureSchedule(ctx, p.Temporal, p.Config.Retention)
	})
	if err != nil {
		return err
	}
	return p.Downloads().StartSync(ctx)
}

// keepRunning starts a workflow now, and again and again for as long as ctx: nothing else would notice that an operator
// has ended it.
func (p process) keepRunning(ctx context.Context, what string, start func() error) error {
	if err := start(); err != nil {
		return err
	}

	go func() {
		ticker := time.NewTicker(restartEvery)
		defer ticker.Stop()

		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := start(); err != nil && ctx.Err() == nil {
					p.Log.Warn("a workflow cannot be started", "what", what, "error", err) // an outage: it is tried again
				}
			}
		}
	}()

	return nil
}
