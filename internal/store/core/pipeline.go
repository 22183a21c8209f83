package core

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline is a session that holds back statements whose results are not read. They are sent with the next query, or
// with the commit, which fails if one of them does.
type pipeline struct {
	conn Session
	held *pgx.Batch
}

// Exec holds back a statement. Its tag is not known yet: run a statement whose tag matters as a query.
func (p *pipeline) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	p.held.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

// SendBatch sends a batch whose results its own callbacks read.
func (p *pipeline) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	all := &pgx.Batch{QueuedQueries: append(p.held.QueuedQueries, batch.QueuedQueries...)}
	p.held.QueuedQueries = nil
	return p.conn.SendBatch(ctx, all)
}

func (p *pipeline) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	batch := &pgx.Batch{}
	batch.Queue(sql, args...)
	before := len(p.held.QueuedQueries)
	results := p.SendBatch(ctx, batch)
	for range before {
		if _, err := results.Exec(); err != nil {
			break // every later result repeats the error
		}
	}

	rows, err := results.Query() // never nil, like a connection's
	return lastRows{rows, results}, err
}

func (p *pipeline) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := p.Query(ctx, sql, args...)
	return onlyRow{rows, err}
}

type lastRows struct {
	pgx.Rows
	batch pgx.BatchResults
}

func (r lastRows) Close() {
	r.Rows.Close()
	_ = r.batch.Close()
}

// onlyRow is the first row of a result, or its error.
type onlyRow struct {
	rows pgx.Rows
	err  error
}

func (r onlyRow) Scan(to ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	return r.rows.Scan(to...)
}
