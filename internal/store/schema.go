package store

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"stagecoach/internal/store/core"
)

// SchemaVersion is the schema version that this program needs: the number of its last migration.
func SchemaVersion() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(names[len(names)-1])
}

// MigrateTo migrates the database at url up to a version, which a restored record may need to be older than this
// program's. It never migrates down.
func MigrateTo(ctx context.Context, url string, version int64) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return migrate(url, files, func(provider *goose.Provider) error {
		_, err := provider.UpTo(ctx, version)
		return err
	})
}

// migrate lets fn migrate the database at url. A lock admits one process at a time. Statements run on separate
// connections without a time limit.
func migrate(url string, files fs.FS, fn func(*goose.Provider) error) error {
	config, err := core.Pool{}.Config(url, nil)
	if err != nil {
		return err
	}

	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()

	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}

	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	if err = fn(provider); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}
