package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"stagecoach/internal/status"
	"stagecoach/internal/store"
	"stagecoach/workflows/delivery"
)

const (
	scaleVariable = "STAGECOACH_SCALE" // how many events there are
	scaleDefault  = 1_000_000
	scaleRuns     = 20
	scaleAim      = 50 // milliseconds
)

// measureScale fills the record with events of three months and measures what reads it all the time: status, metrics, live messages
// and notices. The baseline of a status is to count the rows.
func measureScale(ctx context.Context, m *machine) (rows []row, err error) {
	events := scaleDefault
	if text := os.Getenv(scaleVariable); text != "" {
		if events, err = strconv.Atoi(text); err != nil || events < 1000 {
			return nil, fmt.Errorf("%s is a number of events, 1000 at least", scaleVariable)
		}
	}
	if err := fillScale(ctx, m, events); err != nil {
		return nil, err
	}
	reporter := func() *status.Reporter { // a new one each time: one keeps what it has made for a second
		return status.New(status.Options{
			Store: m.store, Temporal: silentTemporal{}, Queue: delivery.Queue,
		})
	}
	counting, err := scaleSamples(func() error { return countRows(ctx, m) }, 3)
	if err != nil {
		return nil, err
	}
	for _, part := range scaleParts(ctx, m, reporter) {
		samples, err := scaleSamples(part.do, scaleRuns)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", part.name, err)
		}
		r := measured(fmt.Sprintf("%s with %d events", part.name, events), "ms", samples...).atMost(scaleAim)
		if part.counts {
			r = r.against("counting the rows", counting...)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// scalePart is one thing that is done again and again.
type scalePart struct {
	name   string
	counts bool // counting the rows is its baseline
	do     func() error
}

func scaleParts(ctx context.Context, m *machine, reporter func() *status.Reporter) []scalePart {
	return []scalePart{
		{"status", true, func() error { _, err := reporter().Now(ctx); return err }},
		{"metrics", true, func() error {
			r := reporter()
			registry := prometheus.NewRegistry()
			registry.MustRegister(r, status.NewGauges(r))
			_, err := registry.Gather()
			return err
		}},
		{"a live message", false, func() error { return showBoard(ctx, m.store) }},
		{"notices", false, func() error {
			_, err := m.store.DueNotices(ctx, []string{store.TaskNotices, store.DownloadNotices, store.TransactionNotices}, 50)
			return err
		}},
		{"alerts", false, func() error { _, err := m.store.TakeUnsentAlerts(ctx, store.AlertCalm); return err }},
		{"statistics of transactions", true, func() error { _, err := m.store.StatsOfTransactions(ctx, 30); return err }},
		{"adding up counts", false, func() error { return m.store.FoldCounts(ctx) }},
	}
}

// silentTemporal is a Temporal that does not answer: what it says of its queues does not depend on the rows.
type silentTemporal struct{ client.Client }

// WorkflowService implements client.Client.
func (silentTemporal) WorkflowService() workflowservice.WorkflowServiceClient { return silentService{} }

type silentService struct {
	workflowservice.WorkflowServiceClient
}

// DescribeTaskQueue implements workflowservice.WorkflowServiceClient.
func (silentService) DescribeTaskQueue(context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption) (*workflowservice.DescribeTaskQueueResponse, error) {
	return nil, context.DeadlineExceeded
}

// showBoard does what the bot does with a live message: it takes one that is due, looks at what it shows and saves it.
func showBoard(ctx context.Context, s *store.Store) error {
	boards, err := s.ClaimBoards(ctx, 1, time.Minute)
	if err != nil {
		return err
	}
	for _, board := range boards {
		if board.Workload == store.DeliveryBoards {
			if _, err := s.PlacesInLine(ctx, []int64{board.EntityID}); err != nil {
				return err
			}
		}
		if err := s.SaveBoard(ctx, board, 0); err != nil {
			return err
		}
	}
	return nil
}

// countRows is what a status did before counts were kept.
func countRows(ctx context.Context, m *machine) error {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `SELECT state, count(*) FROM jobs GROUP BY state; SELECT status, count(*) FROM tasks GROUP BY status;
		SELECT status, count(*) FROM download_jobs GROUP BY status; SELECT status, count(*) FROM transactions GROUP BY status`)
	return err
}

// scaleSamples gives how long each run took in milliseconds, after some that fill the caches.
func scaleSamples(do func() error, runs int) (samples []float64, err error) {
	for i := range runs + 2 {
		began := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		if i >= 2 {
			samples = append(samples, milliseconds(time.Since(began)))
		}
	}
	return samples, nil
}
