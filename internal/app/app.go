// Package app puts the program together: the worker and the API, each from the configuration to a running service.
// worker, api and dev run the same code.
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
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/oauth2"
	"google.golang.org/grpc"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// Main runs a service with the settings of the environment until a signal asks it to stop, and gives the exit code.
func Main(service func(context.Context, config.Config, *slog.Logger) error) int {
	c, err := config.Load(os.LookupEnv)
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

	if err := service(ctx, c, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped", "error", err)
		return 1
	}
	return 0
}

// Version is the program's version, for the documentation it serves.
const Version = "0.2.0"

// processMetrics are shared by the services of one process: dev runs both.
var (
	processMetrics  = sync.OnceValue(metrics.New)
	temporalMetrics = sync.OnceValues(func() (client.MetricsHandler, error) { return processMetrics().Temporal() })
)

// yandexTokens is the provider by which the record knows the storage's token.
const yandexTokens = "yandex"

// Connections is what both services hold.
type Connections struct {
	Config    config.Config
	Log       *slog.Logger
	Store     *store.Store
	Temporal  client.Client
	Codec     *codec.Codec            // nil: what Temporal keeps is not encrypted
	Payloads  converter.DataConverter // of temporal; nil: the SDK's own
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
	m := processMetrics()
	startAtZero(m)
	app := &Connections{Config: c, Log: log, Metrics: m}
	if app.Store, err = store.OpenPool(ctx, c.DatabaseURL, pool(c.Database, service), c.EncryptionKeys...); err != nil {
		return nil, err
	}

	app.Store.SetQuotas(c.Limits.Quotas)
	app.Store.TaskTimes = task.Times(c.Tasks)
	if err = RetryWhileUnavailable(ctx, log, "the database", func() error { return app.Store.Migrate(ctx) }); err != nil {
		return nil, err
	}

	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}

	app.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	if options.MetricsHandler, err = temporalMetrics(); err != nil {
		return nil, err
	}
	if options.Interceptors, app.flush, err = traces(ctx, c.TracesURL, log); err != nil {
		return nil, err
	}

	options.Identity = identity(service)
	app.Liveness = liveness.New(liveness.Options{
		Store: app.Store, Identity: options.Identity, Service: service, Version: Version, Log: log,
	})

	options.ConnectionOptions.DialOptions = append(
		options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(app.Liveness.Calls),
	)

	options.Logger = sdklog.NewStructuredLogger(log)
	// Our messages are ids: to compress them costs both sides more than it saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if app.Codec, err = payloadCodec(c.Payloads); err != nil {
		return nil, err
	}

	if app.Codec != nil {
		apply(app.Codec, &options)
	}

	app.Payloads = options.DataConverter
	if err = RetryWhileUnavailable(ctx, log, "Temporal", func() error {
		app.Temporal, err = client.DialContext(ctx, options)
		return err
	}); err != nil {
		return nil, err
	}
	if err = app.ensureSearchAttributes(ctx); err != nil {
		return nil, err
	}

	app.Telegram, err = telegram.New(telegram.Options{
		Token: c.Telegram.Token, APIURL: c.Telegram.APIURL, ConnectTimeout: c.Delivery.ConnectTimeout,
		RequestsPerSecond: c.Telegram.RequestsPerSecond,
		OnLatency:         TraceCall("telegram", m.TelegramLatency),
		OnResult:          app.Liveness.Noting(liveness.Telegram),
	})
	if err != nil {
		return nil, err
	}

	vault := app.Store.TokenStore(yandexTokens)
	if err = vault.Seed(ctx, oauth2.Token{AccessToken: c.Yandex.AccessToken, RefreshToken: c.Yandex.RefreshToken}); err != nil {
		return nil, err
	}

	app.tokens = yandex.NewRotating(yandex.RotatingOptions{
		TokenURL: c.Yandex.TokenURL, ClientID: c.Yandex.ClientID, ClientSecret: c.Yandex.ClientSecret,
		Store:         vault,
		RefreshBefore: 5 * time.Minute,
		OnInvalid: func(ctx context.Context) {
			log.Error("the storage refuses its refresh token: an administrator has to renew it")
			if err := app.Store.RaiseAlert(ctx, notice.AlertStorageToken); err != nil {
				log.Error("alert not raised", "error", err)
			}
		},
	})

	app.Yandex = yandex.New(yandex.Options{
		APIURL: c.Yandex.APIURL, Root: c.Yandex.Root, Tokens: app.tokens,
		ConnectTimeout: c.Delivery.ConnectTimeout, CallTimeout: c.Delivery.StorageTimeout,
		OnLatency: TraceCall("yandex", m.YandexLatency),
		OnResult:  app.Liveness.Noting(liveness.Yandex),
	})

	return app, nil
}

// connectionsOf is how many connections to PostgreSQL a process has by itself. The sum of all stands in
// docker-compose.yml.
var connectionsOf = map[string]int{"api": 20, "worker": 12}

func pool(c config.Database, service string) core.Pool {
	return core.Pool{
		Connections: cmp.Or(c.Connections, connectionsOf[service], core.DefaultPool.Connections), Statement: c.Statement,
		Idle: c.Idle,
	}
}

// payloadCodec gives the codec of the configured keys; nil: there are none.
func payloadCodec(c config.Payloads) (*codec.Codec, error) {
	if len(c.Keys) == 0 {
		return nil, nil
	}
	var keys []codec.Key
	for _, key := range c.Keys {
		keys = append(keys, codec.Key(key))
	}
	return codec.New(keys, c.Encrypt)
}

// identity is how Temporal and the record know this process's part.
func identity(service string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s@%s", os.Getpid(), host, service)
}

// KeepAlive lets the process say that it lives, and gives the function that ends this.
func (a *Connections) KeepAlive(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { a.Liveness.Run(ctx) })
	return func() { cancel(); beating.Wait() }
}

func (a *Connections) Close() {
	if a.Temporal != nil {
		a.Temporal.Close()
	}
	a.Store.Close()
	if a.flush != nil {
		a.flush()
	}
}

// RetryWhileUnavailable repeats a start-up step for two minutes: services of one machine start in any order.
func RetryWhileUnavailable(ctx context.Context, log *slog.Logger, what string, step func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := step()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready: %w", what, err)
		}

		log.Warn("waiting", "for", what, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
