package status_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

const queue = "delivery"

func TestMain(m *testing.M) { testdb.Main(m) }

// service is a Temporal that can describe only the task queue, or nothing at all.
type service struct {
	workflowservice.WorkflowServiceClient
	err error
}

func (s service) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, s.err
}

func unreachable() client.Client {
	c := &mocks.Client{}
	c.On("WorkflowService", mock.Anything).Maybe().Return(service{err: errors.New("no route")})
	return c
}

func exec(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	if _, err := testdb.DB(t, url).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) (*store.Store, string) {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, url
}

// jobs makes n jobs in a state; held ones had their heartbeat this long ago.
func jobs(t *testing.T, url string, state lifecycle.DeliveryState, n int, heartbeat time.Duration) {
	t.Helper()
	exec(t, url, `INSERT INTO users (telegram_id, status) VALUES (7, 'ACTIVE') ON CONFLICT DO NOTHING`)
	exec(
		t, url,
		`INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now()) ON CONFLICT DO NOTHING`,
	)
	exec(t, url, `INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, last_error, message_id, claimed_at, heartbeat_at)
		SELECT encode(sha256(($1 || n)::bytea), 'hex'), (SELECT min(id) FROM users), (SELECT min(id) FROM files), 'f', 1, 'api', $1, 'X', 1,
			now() - $2::interval, now() - $2::interval FROM generate_series(1, $3::int) n`, string(state), heartbeat, n)
}

func TestTheRecordAlone(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	began := time.Now()
	jobs(t, url, lifecycle.DeliveryQueued, 3, 0)
	jobs(t, url, lifecycle.DeliveryStreaming, 1, 5*time.Second)
	jobs(t, url, lifecycle.DeliveryClaimed, 2, time.Hour)

	for i, comment := range []string{"TELEGRAM_UNAVAILABLE", "TELEGRAM_UNAVAILABLE", "outcome_unknown", "no such file: /secret/path", ""} {
		exec(
			t, url,
			`INSERT INTO events (workload, entity_id, seq, type, to_state, comment) VALUES ('delivery', '1', $1, 'failed', 'FAILED', $2)`,
			i+1, comment,
		)
	}

	exec(
		t, url,
		`INSERT INTO events (workload, entity_id, seq, type, to_state, comment, created_at) VALUES ('delivery', '1', 9, 'failed', 'FAILED', 'OLD', now() - interval '25 hours')`,
	)

	got, err := status.New(status.Options{ // nothing else counts live rows
		Store: s, Temporal: unreachable(), Queue: queue,
		TokenExpiry: func(context.Context) (time.Time, error) { return time.Now().Add(time.Hour), nil },
	}).Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.QueueDepth != 3 || got.QueueKnown {
		t.Errorf("queue depth %d, known %v", got.QueueDepth, got.QueueKnown)
	}

	jobs := got.InState["delivery"]
	if len(jobs) != 8 || jobs["CLAIMED"] != 2 || jobs["EXPIRED"] != 0 {
		t.Errorf("jobs in state %v", jobs)
	}
	if age := got.WorkerHeartbeatAge; age == nil || *age < 5 || float64(*age) > 20+time.Since(began).Seconds() {
		t.Errorf("heartbeat age %v", age)
	}
	if left := got.TokenExpiresIn; left == nil || *left < 3500 || *left > 3600 {
		t.Errorf("token expires in %v", left)
	}
	if fmt.Sprint(got.TopErrors) != "[{TELEGRAM_UNAVAILABLE 2} {OTHER 1} {outcome_unknown 1}]" {
		t.Errorf("top errors %v", got.TopErrors)
	}
	if len(got.StuckJobs) != 2 || !got.Stuck() {
		t.Errorf("stuck %v", got.StuckJobs)
	}
}

func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	c := &mocks.Client{}
	c.On("WorkflowService", mock.Anything).Return(service{})
	got, err := status.New(status.Options{
		Store: s, Temporal: c, Queue: queue,
		TokenExpiry: func(context.Context) (time.Time, error) { return time.Time{}, errors.New("sealed") },
	}).Now(t.Context())
	if err != nil || got.WorkerHeartbeatAge != nil || got.TokenExpiresIn != nil || got.Stuck() || !got.QueueKnown {
		t.Fatalf("status %+v, error %v", got, err)
	}
}

func TestQBittorrent(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	look := func(gap time.Duration) *status.QBittorrent {
		t.Helper()
		got, err := status.New(status.Options{Store: s, Temporal: unreachable(), Queue: queue, PollGap: gap}).Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got.QBittorrent
	}
	if q := look(0); q != nil {
		t.Errorf("where there is none: %+v", q)
	}
	if q := look(time.Minute); q == nil || *q != (status.QBittorrent{}) {
		t.Errorf("before the first poll: %+v", q)
	}
	if err := s.Downloads.NotePoll(t.Context(), false, time.Minute); err != nil {
		t.Fatal(err)
	}
	if q := look(time.Hour); !q.Answers || q.AnswerAge == nil || *q.AnswerAge < 0 || q.Error != "" {
		t.Errorf("after an answer: %+v", q)
	}

	exec(t, url, `UPDATE download_sync SET polled_at = now() - interval '2 hours'`)
	if q := look(time.Hour); q.Answers || *q.AnswerAge < 7200 || q.Error != "" {
		t.Errorf("long after the last answer: %+v", q)
	}

	exec(t, url, `UPDATE download_sync SET polled_at = now()`)
	if err := s.Downloads.NotePollFailure(t.Context(), "PROVIDER_UNAUTHORIZED"); err != nil {
		t.Fatal(err)
	}
	if q := look(time.Hour); q.Answers || q.AnswerAge == nil || q.Error != "PROVIDER_UNAUTHORIZED" {
		t.Errorf("after a failure: %+v", q)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	jobs(t, url, lifecycle.DeliveryDelivered, 2, 0)
	testdb.Recount(t, s)
	reporter := status.New(status.Options{Store: s, Temporal: unreachable(), Queue: queue})
	registry := prometheus.NewRegistry()
	registry.MustRegister(reporter)
	got, want := gatheredBy(t, registry), emptyMetrics()
	want["jobs_in_state_current DELIVERED"] = 2
	if !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}

	s.Close()
	time.Sleep(time.Second) // longer than a status stays fresh
	if got, want := gatheredBy(t, registry), map[string]float64{"database_answers_current": 0}; !maps.Equal(got, want) {
		t.Errorf("without the record: %v, want %v", got, want)
	}
}

func deliver(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: time.Minute,
		Priority: temporal.Priority{FairnessKey: workflow.GetInfo(ctx).WorkflowExecution.ID},
	})
	return workflow.ExecuteActivity(ctx, "Deliver").Get(ctx, nil)
}

// TestTheRealQueue shows that Temporal's own count is the number of waiting deliveries.
func TestTheRealQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server")
	}

	t.Parallel()
	server, err := servers.StartTemporal(t.Context(), servers.TemporalOptions{UIPort: -1})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = server.Stop() })
	c, err := client.Dial(client.Options{
		HostPort: server.Address, Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)
	workflows := worker.New(c, "main", worker.Options{DisableEagerActivities: true})
	workflows.RegisterWorkflow(deliver)
	if err := workflows.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(workflows.Stop)
	s, _ := open(t)
	reporter := status.New(status.Options{Store: s, Temporal: c, Queue: queue})
	becomes := func(depth int64, worker bool) {
		t.Helper()
		what := fmt.Sprintf("a queue of %d, with a worker: %t", depth, worker)
		wait.Eventually(t, what, func() bool {
			got, err := reporter.Now(t.Context())
			return err == nil && got.QueueKnown && got.QueueDepth == depth && (got.WorkerHeartbeatAge != nil) == worker
		})
	}

	becomes(0, false)
	for i := range 12 {
		options := client.StartWorkflowOptions{ID: fmt.Sprint("user ", i), TaskQueue: "main"}
		if _, err := c.ExecuteWorkflow(t.Context(), options, deliver); err != nil {
			t.Fatal(err)
		}
	}

	becomes(12, false)
	release := make(chan struct{})
	deliver := worker.New(c, queue, worker.Options{MaxConcurrentActivityExecutionSize: 5, DisableWorkflowWorker: true})
	deliver.RegisterActivityWithOptions(func(ctx context.Context) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}, activity.RegisterOptions{Name: "Deliver"})

	if err := deliver.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(deliver.Stop)
	becomes(7, true)
	close(release)
	becomes(0, true)
}
