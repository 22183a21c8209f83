package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store/core"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestHeldStatementsFail runs a query after a held statement that PostgreSQL rejects, and after one during which the
// connection is lost: each form of query returns the cause, and nothing is written.
func TestHeldStatementsFail(t *testing.T) {
	t.Parallel()
	db, err := core.Open(t.Context(), testdb.URL(t), core.Pool{Connections: 8}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)

	type row struct{ N int }
	questions := map[string]func(context.Context, core.Session) error{
		"One": func(ctx context.Context, s core.Session) error {
			_, err := core.One[row](ctx, s, nil, `SELECT 1 AS n`)
			return err
		},
		"List": func(ctx context.Context, s core.Session) error {
			_, err := core.List[row](ctx, s, `SELECT 1 AS n`)
			return err
		},
		"Value": func(ctx context.Context, s core.Session) error {
			_, err := core.Value[int](ctx, s, `SELECT 1`)
			return err
		},
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := func(ctx context.Context, held string) error {
				return db.InTwoTrips(ctx, func(*pgx.Batch) {}, func(s core.Session, _ *pgx.Batch) error {
					if _, err := s.Exec(ctx, held); err != nil {
						t.Error("it was not held back:", err)
					}
					return ask(ctx, s)
				})
			}

			if refused, ok := errors.AsType[*pgconn.PgError](trial(t.Context(), `SELECT 1 / 0`)); !ok || refused.Code != "22012" {
				t.Errorf("a refused statement: %v", refused)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := trial(ctx, `SELECT pg_sleep(60)`); err == nil {
				t.Error("a lost connection: no error")
			}
			if err := trial(t.Context(), `SELECT 1`); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
