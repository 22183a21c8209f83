package app

import (
	"context"
	"log/slog"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
)

// Restored makes the record and Temporal agree after either was set back. No service may run meanwhile.
func Restored(ctx context.Context, c config.Config, log *slog.Logger) error {
	app, err := Connect(ctx, c, log, "starter", (*codec.Codec).Apply)
	if err != nil {
		return err
	}
	defer app.Close()

	restore := reconcile.Restore{
		Temporal: app.Temporal, Store: app.Store, Log: log,
		Workloads: service.From(app).Workloads(),
	}
	return restore.Run(ctx)
}
