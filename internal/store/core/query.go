package core

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/unicode/norm"

	"stagecoach/internal/fault"
)

// Do runs a statement that gives no rows.
func (db *DB) Do(ctx context.Context, sql string, args ...any) error {
	_, err := db.Exec(ctx, sql, args...)
	return Unavailable(err)
}

// One collects exactly one row, or gives missing.
func One[T any](ctx context.Context, db Session, missing *fault.Error, sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows tell its error
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, missing
	}
	return row, Unavailable(err)
}

// List collects all rows of a query.
func List[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows tell its error
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return items, Unavailable(err)
}

// Chosen is List for a statement whose filters need not be given. PostgreSQL plans it each time, for the filters that
// are: a plan that is kept would have to do for any of them, and read the table.
func Chosen[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	return List[T](ctx, db, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// Value reads the one value of the one row of a query; pgx.ErrNoRows when there is none.
func Value[T any](ctx context.Context, db Session, sql string, args ...any) (value T, err error) {
	err = db.QueryRow(ctx, sql, args...).Scan(&value)
	return value, Unavailable(err)
}

// Values collects the one value of each row of a query.
func Values[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows tell its error
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return values, Unavailable(err)
}

// IsUniqueViolation says whether a statement has met a row that is there already.
func IsUniqueViolation(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "23505"
}

// Literal writes a state, or another word of ours, as PostgreSQL does.
func Literal[S ~string](word S) string { return "'" + string(word) + "'" }

// SetOf writes states as the right side of IN. The sets are made from the tables; they stand in the statements and are no
// parameters, because PostgreSQL must prove by them that a partial index serves.
func SetOf[S ~string](states []S) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = Literal(state)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Fold makes names comparable: one letter case, and one spelling of letters like "й" that have two. PostgreSQL's own
// ILIKE knows only ASCII letters in a database of locale C.
func Fold(name string) string { return norm.NFC.String(strings.ToLower(name)) }
