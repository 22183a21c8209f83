package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service/all"
	"stagecoach/internal/store"
)

// Migrate migrates the schema of the database at url to this program's version, and limits a role to the rights of the
// payments process; without a role it grants nothing. The database may still be starting.
func Migrate(ctx context.Context, url, walletRole string, log *slog.Logger) error {
	record, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	defer record.Close()

	err = RetryWhileUnavailable(ctx, log, "the database", func() error { return record.Migrate(ctx) })
	if err != nil {
		return err
	}
	if err = warnOfNewerSchema(ctx, record, log); err != nil || walletRole == "" {
		return err
	}
	return record.GrantWallet(ctx, walletRole)
}

// warnOfNewerSchema logs that a newer release has migrated the database. That is not an error: a release's processes
// keep running while the next one takes over, and return when it is rolled back.
func warnOfNewerSchema(ctx context.Context, record *store.Store, log *slog.Logger) error {
	known, err := store.SchemaVersion()
	if err != nil {
		return err
	}
	about, err := record.Operations.About(ctx)
	if err != nil {
		return err
	}
	if about.Schema > known {
		log.Warn("database has the schema of a newer release: workflows touched by its workers may not continue here, see docs/upgrade.md",
			"schema", about.Schema, "known", known)
	}
	return nil
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

// SetBack describes what was restored to an earlier state.
type SetBack struct {
	LostDatabase string // of the record, if it can still be read; empty: it cannot
	TemporalOnly bool   // the record was not restored
}

// Restored makes the record and Temporal agree after either was restored. No service may run meanwhile. What was
// revoked since then stays revoked: if that is unknown, everyone is signed out, and revoked is the number of their
// tokens.
func Restored(ctx context.Context, c config.Config, log *slog.Logger, what SetBack) (revoked int64, err error) {
	app, err := Connect(ctx, c, log, "starter", (*codec.Codec).Apply)
	if err != nil {
		return 0, err
	}
	defer app.Close()

	switch record := app.Store.Operations; {
	case what.TemporalOnly:
	case what.LostDatabase != "":
		lost, err := store.Open(ctx, what.LostDatabase)
		if err != nil {
			return 0, err
		}
		defer lost.Close()
		later, err := lost.Operations.Access(ctx)
		if err != nil {
			return 0, fmt.Errorf("the lost database cannot be read: %w", err)
		}
		if err := record.Withdraw(ctx, later); err != nil {
			return 0, err
		}
	default:
		if revoked, err = record.SignOutAll(ctx); err != nil {
			return 0, err
		}
	}

	restore := reconcile.Restore{
		Temporal: app.Temporal, Store: app.Store.Operations, Log: log,
		Workloads: all.From(app).Workloads(),
	}
	return revoked, restore.Run(ctx)
}

// TemporalVersion returns Temporal's version; empty: it did not answer within three seconds.
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
