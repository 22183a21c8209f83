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
	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

const (
	scaleVariable = "STAGECOACH_SCALE" // number of events, and of live rows
	scaleDefault  = 1_000_000
	scaleTurns    = 5  // of the baseline, and between them
	scaleRuns     = 20 // of ours
	scaleAim      = 50 // milliseconds
	scalePage     = 51 // rows of a list
	scaleBack     = 10_000
)

// measureScale fills the record with the events of three months and measures its frequent readers: status, metrics,
// live messages, notices and lists. The baseline of each reads the rows without counts or indexes; both take turns.
func measureScale(ctx context.Context, m *machine) (rows []row, err error) {
	events, err := scaleSize()
	if err != nil {
		return nil, err
	}
	if err := fillScale(ctx, m, events); err != nil {
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
	for _, part := range append(scaleParts(ctx, m), scaleLists(ctx, m)...) {
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
		rows = append(rows,
			measured(name+", p50", "ms", ours...).against(part.against, scans...).atMost(scaleAim),
			measured(name+", p95", "ms", quantile(ours, 0.95)).against(part.against, quantile(scans, 0.95)).atMost(scaleAim))
	}

	deleting, err := measureRetention(ctx, m, events)
	return append(rows, deleting...), err
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
	against string // what that is
}

// Baselines: the queries of release 0.1.0, or of a first version of this one.
const (
	countingRows = `SELECT state, count(*) FROM jobs GROUP BY state; SELECT status, count(*) FROM tasks GROUP BY status;
		SELECT status, count(*) FROM download_jobs GROUP BY status; SELECT status, count(*) FROM transactions GROUP BY status`
	wholeLine = `WITH turns AS (
			SELECT id, row_number() OVER (PARTITION BY user_id ORDER BY id) AS turn FROM jobs WHERE state = 'QUEUED'
		) SELECT max(place) FROM (SELECT id, row_number() OVER (ORDER BY turn, id)::int AS place FROM turns) line`
	allNotices = `SELECT DISTINCT ON (user_id) user_id, workload, entity_id, array_agg(seq ORDER BY seq), min(due_at) FROM news
		WHERE state = 'due' AND due_at <= now() GROUP BY user_id, workload, entity_id ORDER BY user_id, min(due_at), workload, entity_id`
	allDeliveries = `SELECT id FROM jobs WHERE state || '' = 'EXPIRED' ORDER BY id DESC LIMIT 51`
	allTasks      = `SELECT id FROM tasks t WHERE creator_id = 0 OR assignee_id = 0 OR (visibility = 'public' AND EXISTS (
		SELECT 1 FROM workspace_members m WHERE m.workspace_id = t.workspace_id AND m.user_id = 0)) ORDER BY id DESC LIMIT 51`
	allEvents = `SELECT xid::text::bigint AS given, id FROM events ORDER BY given DESC, id DESC OFFSET 10000 LIMIT 1`
)

func scaleParts(ctx context.Context, m *machine) []scalePart {
	reporter := func() *status.Reporter { // a new one each time: a reporter caches for a second
		return status.New(status.Options{
			Store: m.store, Temporal: silentTemporal{}, Queue: lifecycle.DeliveryQueue,
		})
	}

	return []scalePart{
		{"status", func() error { _, err := reporter().Now(ctx); return err }, countingRows, "counting the rows"},
		{"metrics", func() error {
			r := reporter()
			registry := prometheus.NewRegistry()
			registry.MustRegister(r)
			_, err := registry.Gather()
			return err
		}, countingRows, "counting the rows"},
		{"statistics of transactions", func() error { _, err := m.store.StatsOfTransactions(ctx, 30); return err }, countingRows, "counting the rows"},
		{"a live message", func() error { return showLiveMessage(ctx, m.store) }, wholeLine, "numbering all that wait"},
		{"notices", func() error {
			_, err := m.store.DueNotices(
				ctx, []string{lifecycle.WorkloadTask, lifecycle.WorkloadDownload, lifecycle.WorkloadTransaction}, 50,
			)
			return err
		}, allNotices, "sorting all that are due"},
		{"a list of expired deliveries", func() error {
			_, err := m.store.Jobs(ctx, delivery.Filter{State: lifecycle.DeliveryExpired, Limit: scalePage})
			return err
		}, allDeliveries, "looking at each delivery"},
		{"a list of what a user sees of tasks", func() error {
			_, err := m.store.Tasks(ctx, task.Filter{Viewer: scaleUsers, Limit: scalePage})
			return err
		}, allTasks, "looking at each task"},
		{"where event streams may begin", func() error { _, err := m.store.EventsBack(ctx, scaleBack); return err }, allEvents, "sorting the events"},
	}
}

// scaleLists are lists of all workloads, with filters that match many rows, few, and none.
func scaleLists(ctx context.Context, m *machine) (parts []scalePart) {
	const user = scaleUsers / 2
	middle := time.Now().AddDate(0, 0, -scaleDays/2)
	add := func(table, name string, list func() error) {
		scan := `SELECT count(*) FROM ` + table + ` WHERE id > 0 AND md5(id::text) = ''`
		parts = append(parts, scalePart{"a list of " + name, list, scan, "looking at each row"})
	}

	for name, f := range map[string]delivery.Filter{
		"deliveries": {}, "deliveries from far back": {Before: 1000}, "a user's deliveries": {UserID: user},
		"a user's expired deliveries": {UserID: user, State: lifecycle.DeliveryExpired}, "live deliveries": {Live: true},
	} {
		f.Limit = scalePage
		add("jobs", name, func() error { _, err := m.store.Jobs(ctx, f); return err })
	}

	for name, f := range map[string]task.Filter{
		"a workspace's tasks": {WorkspaceID: 7}, "a workspace's blocked tasks": {WorkspaceID: 7, Status: lifecycle.TaskBlocked},
		"an assignee's tasks": {AssigneeID: 3}, "ready tasks": {Viewer: user, Ready: true}, "live tasks": {Live: true},
		"a user's tasks from far back": {Viewer: user, Before: 1000},
	} {
		f.Limit = scalePage
		add("tasks", name, func() error { _, err := m.store.Tasks(ctx, f); return err })
	}

	for name, f := range map[string]download.Filter{
		"a user's downloads": {UserID: user}, "failed downloads": {Status: lifecycle.DownloadFailed}, "active downloads": {Active: true},
		"a user's failed downloads": {UserID: user, Status: lifecycle.DownloadFailed}, "a book's downloads": {BookID: 5},
	} {
		f.Limit = scalePage
		add("download_jobs", name, func() error { _, err := m.store.Downloads(ctx, f); return err })
	}

	for name, f := range map[string]transaction.Filter{
		"transactions": {}, "failed transactions": {Status: lifecycle.TransactionFailed}, "transactions to review": {NeedsReview: true},
		"transactions of a month": {SeenFrom: &middle}, "transactions by a hash": {HashBegins: "abc"}, "owed transactions": {Owed: true},
		"pending transactions": {Status: lifecycle.TransactionPending}, "transactions that wait for a person": {Attention: true},
	} {
		f.Limit = scalePage
		add("transactions", name, func() error { _, err := m.store.Transactions(ctx, f); return err })
	}

	add("tasks", "a task's events", func() error { _, err := m.store.EventsOfTask(ctx, 0, 9, 0, scalePage); return err })
	slices.SortFunc(parts, func(a, b scalePart) int { return strings.Compare(a.name, b.name) })
	return parts
}

const (
	deletingFor = 20 * time.Second // at most
	deletedRate = 1000             // rows a second
)

// measureRetention deletes what is older than a third of the time that the record covers, and reads a list meanwhile.
func measureRetention(ctx context.Context, m *machine, events int) ([]row, error) {
	read := func(ctx context.Context) (took []float64) {
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := m.store.Tasks(ctx, task.Filter{Viewer: scaleUsers, Limit: scalePage}); err != nil {
				return took
			}
			took = append(took, milliseconds(time.Since(began)))
		}
		return took
	}

	alone, stop := context.WithTimeout(ctx, deletingFor/4)
	quiet := read(alone)
	stop()

	beside, stop := context.WithTimeout(ctx, deletingFor)
	defer stop()
	reading := make(chan []float64, 1)
	go func() { reading <- read(beside) }()

	policy := operations.Retention{}
	for _, name := range []string{"deliveries", "tasks", "downloads", "events", "news"} {
		policy[name] = scaleDays / 3
	}

	began := time.Now()
	deleted, err := deleteOld(beside, m, policy)
	took := time.Since(began)
	stop()
	busy := <-reading
	if err != nil {
		return nil, err
	}

	name := fmt.Sprintf("retention over %d events, deliveries first", events)
	return []row{
		measured(name, "rows/s", float64(deleted)/took.Seconds()).atLeastOf(deletedRate),
		measured(name+", a list meanwhile, p95", "ms", quantile(busy, 0.95)).against("without", quantile(quiet, 0.95)).atMost(scaleAim),
	}, nil
}

// deleteOld deletes old rows as the nightly workflow does, until none is left or ctx is over.
func deleteOld(ctx context.Context, m *machine, policy operations.Retention) (deleted int64, err error) {
	for _, old := range m.store.OldKinds(policy) {
		for next := int64(0); ; {
			n, after, err := m.store.DeleteOld(ctx, old, next, cleanup.Batch)
			if deleted += n; ctx.Err() != nil {
				return deleted, nil
			}
			if err != nil {
				return deleted, err
			}
			if next = after; next == 0 {
				break
			}
		}
	}
	return deleted, nil
}

// silentTemporal is a Temporal that does not answer: what it reports of its queues does not depend on the rows.
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

// showLiveMessage does what the bot does with a live message: it takes one that is due, reads its content and saves it.
func showLiveMessage(ctx context.Context, s *store.Store) error {
	boards, err := s.ClaimLiveMessages(ctx, 1, time.Minute)
	if err != nil {
		return err
	}

	for _, board := range boards {
		if board.Workload == lifecycle.WorkloadDelivery {
			if _, err := s.Line(ctx, 0); err != nil {
				return err
			}
		}
		if err := s.SaveLiveMessage(ctx, board, 0); err != nil {
			return err
		}
	}

	return nil
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
