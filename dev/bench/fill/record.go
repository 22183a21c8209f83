// Package fill writes the large records of the benches: rows with COPY, without foreign keys and triggers.
package fill

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store"
)

// Record is a database to be filled.
type Record struct {
	URL   string
	Store *store.Store
	Say   func(format string, args ...any) // reports the progress
}

// SQL runs statements one by one: some cannot run in a transaction.
func SQL(ctx context.Context, url, statements string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	for statement := range strings.SplitSeq(statements, ";") {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
