package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"stagecoach/dev/bench/fill"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

const (
	scaleVariable = "STAGECOACH_SCALE" // number of events
	scaleDefault  = 10_000_000
	scaleTurns    = 5   // of the baseline, and between them
	scaleRuns     = 20  // of ours
	scaleAim      = 50  // milliseconds
	scalePage     = 51  // rows of a list
	scaleBatch    = 500 // events of one reading
)

// measureScale fills the record with the events of three months and measures the status and all lists, of which the
// slowest counts. The baselines read the rows without counts or indexes; the two alternate.
func measureScale(ctx context.Context, m *machine) (rows []row, err error) {
	events, err := scaleSize()
	if err != nil {
		return nil, err
	}
	if err := m.record().History(ctx, events); err != nil {
		return nil, err
	}

	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()

	// the status lists users above their quota
	m.store.SetQuotas(core.Quotas{
		"tasks": 5000, "deliveries": 1000, "downloads": 100, "workspaces": 50, "members": 500, "books": 1000,
	})
	lists, err := scaleLists(ctx, m)
	if err != nil {
		return nil, err
	}

	var slowest []row
	for i, part := range append([]scalePart{scaleStatus(ctx, m)}, lists...) {
		baseline := func() error { _, err := conn.Exec(ctx, part.scan); return err }
		ours, scans, err := scaleSamples(part.do, baseline)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", part.name, err)
		}

		m.say(
			"%s: p50 %.2f ms, p95 %.2f ms, without counts and indexes %.1f ms", part.name, median(ours), quantile(ours, 0.95),
			median(scans),
		)
		name := fmt.Sprintf("%s with %d events", part.name, events)
		both := []row{
			measured(name+", p50", "ms", ours...).against(part.against, scans...).atMost(scaleAim),
			measured(name+", p95", "ms", quantile(ours, 0.95)).against(part.against, quantile(scans, 0.95)).atMost(scaleAim),
		}
		if i == 0 {
			rows = both
		} else if slowest == nil || both[1].Ours > slowest[1].Ours {
			slowest = both
		}
	}

	return append(rows, slowest...), nil
}

// scaleSize is the number that the environment chooses.
func scaleSize() (size int, err error) {
	text := os.Getenv(scaleVariable)
	if text == "" {
		return scaleDefault, nil
	}
	if size, err = strconv.Atoi(text); err != nil || size < 1000 {
		return 0, fmt.Errorf("%s is a number of events, 1000 at least", scaleVariable)
	}
	return size, nil
}

// scalePart is one repeated operation.
type scalePart struct {
	name    string
	do      func() error
	scan    string // the same without counts or indexes for it
	against string // description of that
}

// countingRows is the status's baseline.
const countingRows = `SELECT state, count(*) FROM jobs GROUP BY state; SELECT status, count(*) FROM tasks GROUP BY status;
	SELECT status, count(*) FROM download_jobs GROUP BY status; SELECT status, count(*) FROM transactions GROUP BY status`

// scaleStatus is what an administrator asks for. A reporter caches for a second, so each run has a new one.
func scaleStatus(ctx context.Context, m *machine) scalePart {
	return scalePart{"status", func() error {
		_, err := status.New(status.Options{
			Store: m.store, Temporal: silentTemporal{}, Queue: lifecycle.DeliveryQueue,
		}).Now(ctx)
		return err
	}, countingRows, "counting the rows"}
}

// scaleLists are lists of all workloads, with filters that match many rows, few, and none.
func scaleLists(ctx context.Context, m *machine) (parts []scalePart, err error) {
	half, err := m.store.Notices.EventsBack(ctx, 1)
	if err != nil {
		return nil, err
	}
	half.XID -= fill.Transactions / 2

	const user, busy = fill.Users / 2, 1
	middle, longAgo := time.Now().AddDate(0, 0, -fill.Days/2), time.Now().AddDate(0, 0, 1-fill.Days)
	add := func(table, name string, list func() error) {
		scan := `SELECT count(*) FROM ` + table + ` WHERE id > 0 AND md5(id::text) = ''`
		parts = append(parts, scalePart{name, list, scan, "looking at each row of " + table})
	}

	for name, f := range map[string]delivery.Filter{
		"deliveries": {}, "deliveries from far back": {Before: 1000}, "a user's deliveries": {UserID: user},
		"a user's expired deliveries": {UserID: user, State: lifecycle.DeliveryExpired}, "live deliveries": {Live: true},
		"a busy user's failed deliveries": {UserID: busy, State: lifecycle.DeliveryFailed},
	} {
		f.Limit = scalePage
		add("jobs", "a list of "+name, func() error { _, err := m.store.Deliveries.List(ctx, f); return err })
	}

	for name, f := range map[string]task.Filter{
		"a workspace's tasks": {WorkspaceID: 7}, "a workspace's blocked tasks": {WorkspaceID: 7, Status: lifecycle.TaskBlocked},
		"an assignee's tasks": {AssigneeID: 3}, "ready tasks": {Viewer: user, Ready: true}, "live tasks": {Live: true},
		"a user's tasks from far back": {Viewer: user, Before: 1000}, "a busy user's live tasks": {Viewer: busy, Live: true},
	} {
		f.Limit = scalePage
		add("tasks", "a list of "+name, func() error { _, err := m.store.Tasks.List(ctx, f); return err })
	}

	for name, f := range map[string]download.Filter{
		"a user's downloads": {UserID: user}, "failed downloads": {Status: lifecycle.DownloadFailed}, "active downloads": {Active: true},
		"a user's failed downloads": {UserID: user, Status: lifecycle.DownloadFailed}, "a book's downloads": {BookID: 5},
		"downloads": {}, "a busy user's downloads from far back": {UserID: busy, Before: 1000},
	} {
		f.Limit = scalePage
		add("download_jobs", "a list of "+name, func() error { _, err := m.store.Downloads.List(ctx, f); return err })
	}

	for name, f := range map[string]transaction.Filter{
		"transactions": {}, "failed transactions": {Status: lifecycle.TransactionFailed}, "transactions to review": {NeedsReview: true},
		"transactions of a month": {SeenFrom: &middle}, "transactions by a hash": {HashBegins: "abc"}, "owed transactions": {Owed: true},
		"pending transactions": {Status: lifecycle.TransactionPending}, "transactions that wait for a person": {Attention: true},
		"transactions to retry from long ago": {MayRetry: true, SeenUntil: &longAgo}, "transactions from long ago": {SeenUntil: &longAgo},
		"transactions to retry with a message that none has": {MayRetry: true, Error: "none"},
	} {
		f.Limit = scalePage
		add("transactions", "a list of "+name, func() error { _, err := m.store.Transactions.List(ctx, f); return err })
	}

	for name, list := range map[string]func() error{
		"a user's receipts":              func() error { _, err := m.store.Transactions.TransactionsFor(ctx, busy, 0, scalePage); return err },
		"the board of a workspace":       func() error { _, err := m.store.Tasks.BoardOf(ctx, busy, 7, scalePage); return err },
		"the graph of a workspace":       func() error { _, err := m.store.Tasks.GraphOfWorkspace(ctx, busy, 7, scalePage); return err },
		"a user's work":                  func() error { _, err := m.store.Tasks.WorkOf(ctx, 3, 3, scalePage); return err },
		"a task's events":                func() error { _, err := m.store.Tasks.EventsOf(ctx, 0, 9, 0, scalePage); return err },
		"what a busy user did":           func() error { _, err := m.store.Accounts.EventsBy(ctx, busy, 0, scalePage); return err },
		"what a user did, from far back": func() error { _, err := m.store.Accounts.EventsBy(ctx, user, 1000, scalePage); return err },
		"events from the first":          func() error { _, err := m.store.Notices.EventsAfter(ctx, core.Cursor{}, scaleBatch); return err },
		"events from the middle":         func() error { _, err := m.store.Notices.EventsAfter(ctx, half, scaleBatch); return err },
		"the audit log":                  func() error { _, err := m.store.Accounts.AuditLog(ctx, 0, scalePage); return err },
		"alerts that are over":           func() error { _, err := m.store.Notices.Incidents(ctx, false, 0, scalePage); return err },
		"errors of a day": func() error {
			_, err := m.store.Operations.WorkloadErrors(ctx, time.Now().AddDate(0, 0, -1), scalePage)
			return err
		},
		"books by rare words": func() error {
			_, err := m.store.Downloads.Books(ctx, download.BookFilter{Words: "number 99999 some", Limit: scalePage})
			return err
		},
		"files by rare words":     func() error { _, err := m.store.Deliveries.SearchFiles(ctx, "report 99999.", scalePage, 0); return err },
		"files by frequent words": func() error { _, err := m.store.Deliveries.SearchFiles(ctx, "report", scalePage, 0); return err },
	} {
		add("tasks", name, list)
	}

	slices.SortFunc(parts, func(a, b scalePart) int { return strings.Compare(a.name, b.name) })
	return parts, nil
}

// silentTemporal is a Temporal that does not answer: what it reports about its queues does not depend on the rows.
type silentTemporal struct{ client.Client }

// WorkflowService implements client.Client.
func (silentTemporal) WorkflowService() workflowservice.WorkflowServiceClient { return silentService{} }

type silentService struct {
	workflowservice.WorkflowServiceClient
}

// DescribeTaskQueue implements workflowservice.WorkflowServiceClient.
func (silentService) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return nil, context.DeadlineExceeded
}

// scaleSamples returns how long each run took in milliseconds, of ours after some that fill the caches, and of the
// baseline.
func scaleSamples(do, baseline func() error) (ours, scans []float64, err error) {
	timed := func(what func() error, to *[]float64) error {
		began := time.Now()
		err := what()
		*to = append(*to, milliseconds(time.Since(began)))
		return err
	}

	var warm []float64
	for range scaleTurns {
		if err := timed(baseline, &scans); err != nil {
			return nil, nil, err
		}

		for range 2 {
			if err := timed(do, &warm); err != nil {
				return nil, nil, err
			}
		}

		for range scaleRuns {
			if err := timed(do, &ours); err != nil {
				return nil, nil, err
			}
		}
	}

	return ours, scans, nil
}
