// Package app puts the program together: the worker and the API, each from the configuration to a running service.
// worker, api and starter dev run the same code.
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

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/oauth2"

	"stagecoach/internal/config"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
	"stagecoach/workflows/lifecycle"

	"github.com/mymmrac/telego"
)

// Main runs a service with the settings of the environment until a signal asks it to stop, and gives the exit code.
func Main(service func(context.Context, config.Config, *slog.Logger) error) int {
	c, err := config.Load(os.LookupEnv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := service(ctx, c, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped", "error", err)
		return 1
	}
	return 0
}

// Version is the program's version, for the documentation it serves.
const Version = "0.1.0"

// processMetrics are shared by the services of one process: starter dev runs both.
var processMetrics = sync.OnceValue(metrics.New)

// common is what both services hold.
type common struct {
	config    config.Config
	log       *slog.Logger
	store     *store.Store
	temporal  client.Client
	namespace string
	telegram  *telego.Bot
	yandex    *yandex.Client
	tokens    *yandex.Rotating
	metrics   *metrics.Metrics
}

// newCommon connects to everything that both services need; PostgreSQL and Temporal may still be starting.
func newCommon(ctx context.Context, c config.Config, log *slog.Logger) (_ *common, err error) {
	m := processMetrics()
	app := &common{config: c, log: log, metrics: m}
	if app.store, err = store.Open(ctx, c.DatabaseURL, c.EncryptionKey); err != nil {
		return nil, err
	}
	if err = patiently(ctx, log, "the database", func() error { return app.store.Migrate(ctx) }); err != nil {
		return nil, err
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	app.namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.Logger = sdklog.NewStructuredLogger(log)
	// Our messages are ids: to compress them costs both sides more than it saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if err = patiently(ctx, log, "Temporal", func() error {
		app.temporal, err = client.DialContext(ctx, options)
		return err
	}); err != nil {
		return nil, err
	}
	if err = patiently(ctx, log, "Temporal's search attributes", func() error {
		return EnsureSearchAttributes(ctx, app.temporal, app.namespace)
	}); err != nil {
		return nil, err
	}
	app.telegram, err = telegram.New(telegram.Options{
		Token: c.Telegram.Token, APIURL: c.Telegram.APIURL, ConnectTimeout: c.Delivery.ConnectTimeout,
		RequestsPerSecond: c.Telegram.RequestsPerSecond,
		OnLatency: func(method string, took time.Duration) {
			m.TelegramLatency.WithLabelValues(method).Observe(took.Seconds())
		},
	})
	if err != nil {
		return nil, err
	}
	vault := app.store.TokenVault("yandex")
	if err = vault.Seed(ctx, oauth2.Token{AccessToken: c.Yandex.AccessToken, RefreshToken: c.Yandex.RefreshToken}); err != nil {
		return nil, err
	}
	app.tokens = yandex.NewRotating(yandex.RotatingOptions{
		TokenURL: c.Yandex.TokenURL, ClientID: c.Yandex.ClientID, ClientSecret: c.Yandex.ClientSecret,
		Store:         vault,
		RefreshBefore: 5 * time.Minute,
		OnInvalid: func(ctx context.Context) {
			log.Error("the storage refuses its refresh token: an administrator has to renew it")
			if err := app.store.RaiseAlert(ctx, store.AlertStorageToken); err != nil {
				log.Error("alert not raised", "error", err)
			}
		},
	})
	app.yandex = yandex.New(yandex.Options{
		APIURL: c.Yandex.APIURL, Root: c.Yandex.Root, Tokens: app.tokens,
		ConnectTimeout: c.Delivery.ConnectTimeout, CallTimeout: c.Delivery.StorageTimeout,
		OnLatency: func(op string, took time.Duration) { m.YandexLatency.WithLabelValues(op).Observe(took.Seconds()) },
	})
	return app, nil
}

func (a *common) close() {
	if a.temporal != nil {
		a.temporal.Close()
	}
	a.store.Close()
}

// patiently repeats a start-up step for two minutes: services of one machine start in any order.
func patiently(ctx context.Context, log *slog.Logger, what string, step func() error) error {
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

// EnsureSearchAttributes registers the attributes of the contract; those that exist stay.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	wanted := map[string]enumspb.IndexedValueType{
		lifecycle.StageAttribute.GetName():     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		lifecycle.OwnerAttribute.GetName():     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		lifecycle.AttentionAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_BOOL,
		lifecycle.WorkspaceAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		lifecycle.AssigneeAttribute.GetName():  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		lifecycle.DeadlineAttribute.GetName():  enumspb.INDEXED_VALUE_TYPE_DATETIME,
	}
	existing, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	for name := range existing.CustomAttributes {
		delete(wanted, name)
	}
	if len(wanted) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: wanted})
	if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); exists {
		return nil
	}
	return err
}
