package app

import (
	"context"

	"stagecoach/internal/config"
	"stagecoach/internal/store"
)

// Reseal seals anew, with the first encryption key, what is sealed in the record, and says how many rows that were.
func Reseal(ctx context.Context, c config.Config) (int, error) {
	record, err := store.Open(ctx, c.DatabaseURL, c.EncryptionKeys...)
	if err != nil {
		return 0, err
	}
	defer record.Close()

	return record.Reseal(ctx)
}
