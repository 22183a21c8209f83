package app

import (
	"context"
	"log/slog"

	"stagecoach/internal/store"
)

// Migrate brings the schema of the database at url up to this program's version; the database may still be starting.
func Migrate(ctx context.Context, url string, log *slog.Logger) error {
	record, err := store.Open(ctx, url, make([]byte, 32)) // the key matters to nobody: nothing is sealed or opened
	if err != nil {
		return err
	}
	defer record.Close()
	return RetryWhileUnavailable(ctx, log, "the database", func() error { return record.Migrate(ctx) })
}
