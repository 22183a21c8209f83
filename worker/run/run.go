// Package run makes the worker: workflows and activities on each queue that the process serves.
package run

import (
	"context"
	"log/slog"
	"time"

	"stagecoach/internal/app"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
)

// restartEvery is the longest time for which a singleton that an operator has ended is not running.
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

	stop, err := startAll(p.workers(parts)...)
	if err != nil {
		return err
	}
	defer stop()

	for _, part := range parts {
		if part.start == nil {
			continue
		}
		if err := part.start(ctx); err != nil {
			return err
		}
	}

	if c.Worker.MetricsAddr != "" {
		stop := app.ServeMetrics(c.Worker.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}

	log.Info("worker runs", "queues", served(c, parts))
	<-ctx.Done()
	log.Info("worker stops", "within", c.Worker.StopTimeout.String())
	return nil
}

// keepRunning starts a workflow now, and repeatedly until ctx ends, because nothing else would notice that an operator
// has ended it.
func (p process) keepRunning(ctx context.Context, what string, start func() error) error {
	if err := app.RetryWhileUnavailable(ctx, p.Log, what, start); err != nil {
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
					// An outage: the start is repeated.
					p.Log.Warn("a workflow cannot be started", "what", what, "error", err)
				}
			}
		}
	}()

	return nil
}
