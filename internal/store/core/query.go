package core

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
)

// One collects exactly one row, or gives missing.
func One[T any](ctx context.Context, db *DB, missing *fault.Error, sql string, args ...any) (T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, Unavailable(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, missing
	}
	return row, Unavailable(err)
}

// List collects all rows of a query.
func List[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, Unavailable(err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return items, Unavailable(err)
}

// Chosen is list for a statement whose filters need not be given. PostgreSQL plans it each time, for the filters that
// are: a plan that is kept would have to do for any of them, and read the table.
func Chosen[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	return List[T](ctx, db, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// OneIn is one within a transaction.
func OneIn[T any](ctx context.Context, tx Session, missing *fault.Error, sql string, args ...any) (T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, missing
	}
	return row, err
}

// ListIn is list within a transaction.
func ListIn[T any](ctx context.Context, tx Session, sql string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// IsUniqueViolation says whether a statement has met a row that is there already.
func IsUniqueViolation(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "23505"
}
