package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
)

// one collects exactly one row, or gives missing.
func one[T any](ctx context.Context, s *Store, missing *fault.Error, sql string, args ...any) (T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		var zero T
		return zero, unavailable(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, missing
	}
	return row, unavailable(err)
}

// list collects all rows of a query.
func list[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return items, unavailable(err)
}

// chosen is list for a statement whose filters need not be given. PostgreSQL plans it each time, for the filters that
// are: a plan that is kept would have to do for any of them, and read the table.
func chosen[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	return list[T](ctx, s, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// oneIn is one within a transaction.
func oneIn[T any](ctx context.Context, tx session, missing *fault.Error, sql string, args ...any) (T, error) {
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

// listIn is list within a transaction.
func listIn[T any](ctx context.Context, tx session, sql string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

func isUniqueViolation(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "23505"
}
