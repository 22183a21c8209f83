package app

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// Migrate brings the schema of the database at url up to this program's version, and lets a role do what the process for
// payments does, and no more; without a role nothing. The database may still be starting.
func Migrate(ctx context.Context, url, walletRole string, log *slog.Logger) error {
	record, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	defer record.Close()

	err = RetryWhileUnavailable(ctx, log, "the database", func() error { return record.Migrate(ctx) })
	if err != nil || walletRole == "" {
		return err
	}
	return record.GrantWallet(ctx, walletRole)
}

// Reseal encrypts all encrypted values of the record with the first key, and returns the number of rows.
func Reseal(ctx context.Context, c config.Config) (int, error) {
	record, err := store.Open(ctx, c.DatabaseURL, c.EncryptionKeys...)
	if err != nil {
		return 0, err
	}
	defer record.Close()

	tokens, err := record.Accounts.Reseal(ctx)
	if err != nil {
		return 0, err
	}
	webhooks, err := record.Webhooks.Reseal(ctx)
	return tokens + webhooks, err
}

// Restored makes the record and Temporal agree after either was set back. No service may run meanwhile.
func Restored(ctx context.Context, c config.Config, log *slog.Logger) error {
	app, err := Connect(ctx, c, log, "starter", (*codec.Codec).Apply)
	if err != nil {
		return err
	}
	defer app.Close()

	restore := reconcile.Restore{
		Temporal: app.Temporal, Store: app.Store.Operations, Log: log,
		Workloads: service.From(app).Workloads(),
	}
	return restore.Run(ctx)
}

// TemporalVersion asks Temporal for its version; empty: it did not answer within three seconds.
func TemporalVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()

	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return ""
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return ""
	}
	defer temporal.Close()

	info, err := temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return ""
	}
	return info.ServerVersion
}
