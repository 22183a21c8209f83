package core

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/unicode/norm"

	"stagecoach/internal/fault"
)

// Do runs a statement that returns no rows.
func (db *DB) Do(ctx context.Context, sql string, args ...any) error {
	_, err := db.Exec(ctx, sql, args...)
	return Unavailable(err)
}

// One returns exactly one row, or the error missing.
func One[T any](ctx context.Context, db Session, missing *fault.Error, sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows return its error
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, missing
	}
	return row, Unavailable(err)
}

// Optional returns the only row of a batch's query; nil: there is none.
func Optional[T any](rows pgx.Rows) (*T, error) {
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

// List returns all rows of a query.
func List[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows return its error
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return items, Unavailable(err)
}

// Chosen is List for a statement with optional filters. PostgreSQL plans it anew for the given filters: a cached plan
// would have to fit any of them, and would scan the table.
func Chosen[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	return List[T](ctx, db, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// Value returns the only value of a query's only row; pgx.ErrNoRows: there is none.
func Value[T any](ctx context.Context, db Session, sql string, args ...any) (value T, err error) {
	err = db.QueryRow(ctx, sql, args...).Scan(&value)
	return value, Unavailable(err)
}

// Values returns the only value of each row of a query.
func Values[T any](ctx context.Context, db Session, sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // the rows return its error
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return values, Unavailable(err)
}

// IsUniqueViolation reports whether a statement hit an existing row with the same key.
func IsUniqueViolation(err error) bool { return hasCode(err, "23505") }

// IsDeadlock reports whether PostgreSQL ended a statement because of a deadlock.
func IsDeadlock(err error) bool { return hasCode(err, "40P01") }

// IsOvertaken reports whether PostgreSQL ended a transaction because another one changed what it had read.
func IsOvertaken(err error) bool { return hasCode(err, "40001") }

// readOnly is the code of a write to a server that accepts none: one that was demoted, or that an operator protects.
const readOnly = "25006"

// refusals describes, by code, what stops a reachable server.
var refusals = map[string]string{
	readOnly: "the database refuses writes",
	"53100":  "the disk of the database is full",
	"53200":  "the database has no memory left",
	"53300":  "the database takes no more connections",
	"58030":  "the database cannot use its disk",
}

func hasCode(err error, code string) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == code
}

// ActiveUser is true of a user u who may use the service: an agent may while its owner may.
var ActiveUser = `u.status = 'ACTIVE' AND ` + OwnerActive("u")

// OwnerActive is true, in SQL, of a user without an owner, or with one who may use the service. Served by the primary
// key.
func OwnerActive(user string) string {
	return `(` + user + `.owner_id IS NULL OR EXISTS (SELECT 1 FROM users owner WHERE owner.id = ` + user + `.owner_id AND owner.status = 'ACTIVE'))`
}

// Literal formats a state, or another constant of the program, as an SQL literal.
func Literal[S ~string](word S) string { return "'" + string(word) + "'" }

// SetOf formats states as the right side of IN. The sets come from the tables. They are literals rather than
// parameters, because PostgreSQL must prove from them that a partial index applies.
func SetOf[S ~string](states []S) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = Literal(state)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Fold makes names comparable: one letter case, and one encoding of letters like "й" that have two. PostgreSQL's own
// ILIKE handles only ASCII letters in a database with locale C.
func Fold(name string) string { return norm.NFC.String(strings.ToLower(name)) }

// mostWords is how many words of a search are used.
const mostWords = 20

// Patterns returns LIKE patterns for the words of a text: punctuation is ignored, unless there is nothing else.
func Patterns(text string) []string {
	text = Fold(text)
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
	if len(words) == 0 && strings.TrimSpace(text) != "" {
		words = strings.Fields(text)
	}

	words = slices.Compact(slices.Sorted(slices.Values(words)))
	patterns := make([]string, min(len(words), mostWords))
	for i := range patterns {
		patterns[i] = "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(words[i]) + "%"
	}
	return patterns
}

// APIAway is true if no API process, which is a in SQL, has sent a heartbeat for longer than a restart takes.
const APIAway = `a.beat_at < now() - interval '20 seconds'`
