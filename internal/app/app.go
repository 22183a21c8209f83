// Package app creates connections and services from the configuration. Worker, API and dev run the same code.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mymmrac/telego"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/counts"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/yandex"
)

// Main runs a service with the program's settings of the environment until a signal asks it to stop, and gives the exit
// code. With the one argument version, or --version, it only prints that.
func Main(program config.Program, service func(context.Context, config.Config, *slog.Logger) error) int {
	if AsksVersion(os.Args[1:]) {
		fmt.Fprintln(os.Stdout, ThisBuild())
		return 0
	}

	c, err := config.LoadFor(program, os.LookupEnv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}

	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		log.Error("told to stop again: ends at once")
		os.Exit(1)
	}()

	if err := UnlessStopped(ctx, service(ctx, c, log)); err != nil {
		log.Error("stopped", "error", err)
		return 1
	}
	return 0
}

// UnlessStopped returns the error with which a service has ended, or nil when it has ended because ctx was cancelled: a
// requested stop is no failure. A failure for another reason is one even when a stop was requested, too.
func UnlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// requestPatience is how long a request waits for its workflow's outcome: longer than a lost workflow task takes to be
// repeated.
const requestPatience = 25 * time.Second

// processMetrics are shared by the services of one process: dev runs both.
var (
	processMetrics  = sync.OnceValue(metrics.New)
	temporalMetrics = sync.OnceValues(func() (client.MetricsHandler, error) { return processMetrics().Temporal() })
)

// Connections are what the worker and the API share.
type Connections struct {
	Config    config.Config
	Log       *slog.Logger
	Store     *store.Store
	Temporal  client.Client
	Codec     *codec.Codec            // nil: payloads are not encrypted
	Payloads  converter.DataConverter // converter of temporal; nil: the SDK's default
	Namespace string
	Telegram  *telego.Bot
	Yandex    *yandex.Client
	tokens    *yandex.Rotating
	Metrics   *metrics.Metrics
	Liveness  *liveness.Reporter
	flush     func() // of traces
}

// Connect connects to everything that both services need; PostgreSQL and Temporal may still be starting. service is the
// process's part; apply puts the codec, if there is one, into the options of the client of Temporal.
func Connect(
	ctx context.Context, c config.Config, log *slog.Logger, service string, apply func(*codec.Codec, *client.Options),
) (_ *Connections, err error) {
	app := &Connections{Config: c, Log: log, Metrics: processMetrics()}
	if app.Store, err = store.OpenPool(ctx, c.DatabaseURL, Pool(c.Connections, service), c.EncryptionKeys...); err != nil {
		return nil, err
	}

	app.Store.SetQuotas(quotas(c.Limits.Quotas))
	app.Store.Tasks.TaskTimes = leastTimes
	if err = RetryWhileUnavailable(ctx, log, "the database", func() error { return app.Store.Migrate(ctx) }); err != nil {
		return nil, err
	}

	app.Liveness = liveness.New(liveness.Options{
		Store: app.Store.Operations, Identity: identity(service), Service: service, Version: Version, Log: log,
	})

	if err = app.dialTemporal(ctx, service, apply); err != nil {
		return nil, err
	}
	if err = app.connectOutside(); err != nil {
		return nil, err
	}
	if err = app.seedTokens(ctx); err != nil {
		return nil, err
	}

	return app, nil
}

// connectionsOf is the default number of connections to PostgreSQL of a process. docker-compose.yml has the sum of all.
var connectionsOf = map[string]int{"api": 20, "worker": 12}

// Pool are the connections to PostgreSQL of a process; connections is the setting.
func Pool(connections int, service string) core.Pool {
	pool := core.DefaultPool
	pool.Connections = cmp.Or(connections, connectionsOf[service], pool.Connections)
	return pool
}

// identity is how Temporal and the record know this process's part.
func identity(service string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s@%s", os.Getpid(), host, service)
}

// KeepAlive sends the heartbeats of this process until stop is called. A process that does more than pay keeps counts, alerts
// and webhooks up to date, together with the others.
func (a *Connections) KeepAlive(ctx context.Context) (stop func()) {
	if a.Config.Worker.PaysOnly() {
		return background(ctx, a.Liveness.Run)
	}

	keeper := counts.Keeper{Store: a.Store.Operations, Log: a.Log, Then: map[string]func(context.Context) error{
		"watch the service":           a.Reporter().Watch,
		"repeat signals for webhooks": a.Webhooks().RepeatSignals,
	}}
	return background(ctx, func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { keeper.Run(ctx) })
		a.Liveness.Run(ctx)
		running.Wait()
	})
}

// background runs something until stop is called, which waits for its end.
func background(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}

// Close closes all connections, and sends the last traces.
func (a *Connections) Close() {
	if a.Temporal != nil {
		a.Temporal.Close()
	}
	a.Store.Close()
	if a.flush != nil {
		a.flush()
	}
}

// RetryWhileUnavailable repeats a start-up step for two minutes: services of one machine start in any order. When ctx ends
// first, its error is returned, because clients report a cancelled call in many ways, such as Temporal's by an error that
// is no context.Canceled.
func RetryWhileUnavailable(ctx context.Context, log *slog.Logger, what string, step func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := step()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("%s is not ready: %w", what, err)
		}

		log.Warn("waiting", "for", what, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
