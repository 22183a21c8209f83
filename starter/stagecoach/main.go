// Command stagecoach runs the API, the bot and a worker in one process: `stagecoach serve`. It makes no payments: a
// process that is exposed to strangers does not hold the wallet's key. A separate worker makes the payments.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"

	api "stagecoach/api/run"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
	worker "stagecoach/worker/run"
)

func main() {
	if args := os.Args[1:]; !app.AsksVersion(args) && (len(args) != 1 || args[0] != string(config.ForServe)) {
		fmt.Fprintln(os.Stderr, "usage: stagecoach serve | version\n\nRuns the API, the bot and a worker with the settings of the environment, or prints the version.")
		os.Exit(2)
	}
	os.Exit(app.Main(config.ForServe, serve))
}

// serve runs API and worker until ctx is done or one of them ends.
func serve(ctx context.Context, c config.Config, log *slog.Logger) error {
	c.Worker.MetricsAddr = "" // the API's listener serves the metrics of the whole process

	return together(ctx,
		func(ctx context.Context) error { return worker.Run(ctx, c, log) },
		func(ctx context.Context) error { return api.Run(ctx, c, log) },
	)
}

// together runs parts until ctx ends, or one of them, and returns the first failure. The end of the others is none.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		running.Go(func() error { return app.UnlessStopped(ctx, part(ctx)) })
	}
	return running.Wait()
}
