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

	"github.com/cenkalti/backoff/v5"
	"github.com/mymmrac/telego"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/oauth2"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/counts"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/yandex"
)

// Main runs a service with the program's settings from the environment until a signal stops it, and returns the exit
// code. With the single argument version, or --version, it only prints that.
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
		log.Error("second signal: exiting now")
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

// requestPatience is how long a request waits for its workflow's outcome: longer than the retry of a lost workflow task
// takes.
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
// process's part; apply puts the codec, if any, into the Temporal client's options.
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
	if err = warnOfNewerSchema(ctx, app.Store, log); err != nil {
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

	first := oauth2.Token{AccessToken: c.Yandex.AccessToken, RefreshToken: c.Yandex.RefreshToken}
	err = RetryWhileUnavailable(ctx, log, "the database", func() error {
		return app.Store.Accounts.TokenStore(yandexTokens).Seed(ctx, first)
	})
	if err != nil {
		return nil, err
	}
	return app, nil
}

// connectionsOf is a process's default number of connections to PostgreSQL. docker-compose.yml has the sum of all.
var connectionsOf = map[string]int{"api": 20, "worker": 12}

// Pool returns a process's connections to PostgreSQL; connections is the setting.
func Pool(connections int, service string) core.Pool {
	pool := core.DefaultPool
	pool.Program = service
	pool.Connections = cmp.Or(connections, connectionsOf[service], pool.Connections)
	return pool
}

// identity is this process's name in Temporal and in the record.
func identity(service string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s@%s", os.Getpid(), host, service)
}

// KeepAlive sends this process's heartbeats until stop is called. A process that does more than pay shares the work of
// keeping counts, alerts, webhooks and search attributes up to date.
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
		running.Go(func() { a.keepSearchAttributes(ctx, searchAttributesEvery) })
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

// RetryWhileUnavailable retries a startup step for two minutes: the services of one machine start in any order. When
// ctx ends first, its error is returned, because clients report a cancelled call in many ways, such as Temporal's by an
// error that is no context.Canceled.
func RetryWhileUnavailable(ctx context.Context, log *slog.Logger, what string, step func() error) error {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: 200 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: 5 * time.Second,
	}

	_, err := backoff.Retry(ctx, func() (none struct{}, _ error) { return none, step() },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(2*time.Minute),
		backoff.WithNotify(func(err error, _ time.Duration) { log.Warn("waiting for dependency", "for", what, "error", err) }))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // whatever the step returns: UnlessStopped treats it as an orderly stop
	default:
		return fmt.Errorf("%s is not ready: %w", what, err)
	}
}
