// Package run is the worker process: workflows and activities on each queue that it serves.
package run

import (
	"context"
	"log/slog"
	"sync"

	"stagecoach/internal/app"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/operations/status"
)

// process is one worker.
type process struct{ *app.Connections }

// Run runs workflows and activities until ctx is done.
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

	var starting sync.WaitGroup
	defer starting.Wait()
	for _, part := range parts {
		if part.start != nil {
			starting.Go(func() { p.start(ctx, part) })
		}
	}

	if c.Worker.MetricsAddr != "" {
		stop := app.ServeMetrics(c.Worker.MetricsAddr, p.Metrics.Handler(status.Unwritten{Notices: p.Store.Notices}), log)
		defer stop()
	}

	log.Info("worker started", "queues", served(c, parts))
	<-ctx.Done()
	log.Info("worker stopping", "within", c.Worker.StopTimeout.String())
	return nil
}

// start runs a part's setup, however long an outage lasts. The worker serves its queues meanwhile.
func (p process) start(ctx context.Context, part part) {
	for ctx.Err() == nil {
		if app.RetryWhileUnavailable(ctx, p.Log, "what the worker starts", func() error { return part.start(ctx) }) == nil {
			return
		}
	}
}
