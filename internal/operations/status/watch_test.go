package status_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
)

// queues is a Temporal whose task queues all have the same counts.
type queues struct {
	workflowservice.WorkflowServiceClient
	depth   int64
	pollers []*taskqueuepb.PollerInfo
}

func (q *queues) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{
		Stats: &taskqueuepb.TaskQueueStats{
			ApproximateBacklogCount: q.depth, ApproximateBacklogAge: durationpb.New(7 * time.Second),
		},
		Pollers: q.pollers,
	}, nil
}

// TestWatch lets every cause of an alert come and go.
func TestWatch(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	ctx := t.Context()
	temporal := &queues{
		depth: 5, pollers: []*taskqueuepb.PollerInfo{{Identity: "1@h@worker", LastAccessTime: timestamppb.Now()}},
	}

	c := &mocks.Client{}
	c.On("WorkflowService", mock.Anything).Return(temporal)
	away := &mocks.Client{}
	away.On("WorkflowService", mock.Anything).Return(service{err: context.DeadlineExceeded})
	ends, renews := time.Now().Add(24*time.Hour), true
	options := status.Options{
		Store: s, Temporal: c, Queue: queue, Queues: []string{"stagecoach", queue},
		TokenExpiry: func(context.Context) (time.Time, error) { return ends, nil },
		TokenRenews: func(context.Context) (bool, error) { return renews, nil },
	}

	want := func(when string, kinds ...string) {
		t.Helper()
		fresh := status.New(options) // a status is kept for a second
		for range 2 {
			if err := fresh.Watch(ctx); err != nil {
				t.Fatal(err)
			}
			if err := fresh.WatchWorkers(ctx); err != nil {
				t.Fatal(err)
			}
		}

		alerts, err := s.Notices.Incidents(ctx, true, 0, 100)
		if err != nil {
			t.Fatal(err)
		}

		var open []string
		for _, alert := range alerts {
			open = append(open, alert.Kind)
		}

		slices.Sort(open)
		slices.Sort(kinds)
		if !slices.Equal(open, kinds) {
			t.Errorf("%s: open are %v, want %v", when, open, kinds)
		}
	}

	want("all is well")

	renews, temporal.depth, temporal.pollers = false, 1001, nil
	jobs(t, url, lifecycle.DeliveryClaimed, 1, time.Hour)
	if _, _, err := s.Operations.NoteFinding(ctx, operations.Finding{Workload: "task", Entity: "1", WorkflowID: "task/1", Finding: operations.FindingMissing}); err != nil {
		t.Fatal(err)
	}

	exec(t, url, `INSERT INTO outside_systems (name, failed_at, error, failing_since) SELECT name, now(), 'X', now() - interval '6 minutes'
		FROM unnest(ARRAY['yandex', 'fragment', 'qbittorrent']) AS name`)
	want(
		"all is wrong", notice.AlertTokenEnding, notice.AlertQueue, notice.AlertNoWorker, notice.AlertStuckJobs,
		notice.AlertFindings, notice.AlertStorageAway, notice.AlertFragmentAway,
	)

	options.Temporal = away
	want("Temporal is away: of queues and workers nothing is known", notice.AlertTemporalAway,
		notice.AlertTokenEnding, notice.AlertQueue, notice.AlertNoWorker, notice.AlertStuckJobs, notice.AlertFindings, notice.AlertStorageAway, notice.AlertFragmentAway)

	options.Temporal = c
	renews, temporal.depth, temporal.pollers = true, 0, []*taskqueuepb.PollerInfo{{Identity: "1@h@worker", LastAccessTime: timestamppb.Now()}}
	exec(t, url, `UPDATE jobs SET state = 'QUEUED'`)
	exec(t, url, `UPDATE reconciler_findings SET found_at = now() - interval '11 minutes'`)
	// no more calls are made
	exec(t, url, `UPDATE outside_systems SET failed_at = now() - interval '11 minutes' WHERE name = 'yandex'`)
	exec(
		t, url,
		`UPDATE outside_systems SET succeeded_at = now(), failing_since = NULL WHERE name = 'fragment'`,
	)
	want("all is well again")
}

// waitingActivity runs until it is closed.
type waitingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	begun, end chan struct{}
}

func (a *waitingActivity) ExecuteActivity(context.Context, *interceptor.ExecuteActivityInput) (any, error) {
	close(a.begun)
	<-a.end
	return nil, nil
}

// TestHeartbeats lets two processes record how calls went, and requires the record to have the latest of each.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	process := func(identity string, note func(*liveness.Reporter)) {
		t.Helper()
		p := liveness.New(liveness.Options{
			Store: s.Operations, Identity: identity, Service: "worker", Version: "1", Every: time.Hour,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})

		note(p)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		inFlight := &waitingActivity{begun: make(chan struct{}), end: make(chan struct{})}
		go func() { _, _ = p.Worker().InterceptActivity(ctx, inFlight).ExecuteActivity(ctx, nil) }()
		<-inFlight.begun
		go func() { defer close(ended); p.Run(ctx) }()

		wait.Eventually(t, "a heartbeat", func() bool {
			watched, err := s.Operations.Watched(t.Context(), time.Minute, 1)
			if err != nil || len(watched.Processes) != 1 {
				return false
			}
			if got := watched.Processes[0]; got.Identity != identity || got.InFlight != 1 || got.Version != "1" {
				t.Errorf("%+v", got)
			}
			return true
		})

		close(inFlight.end)
		cancel()
		<-ended
	}

	look := func() map[string]operations.OutsideSystem {
		t.Helper()
		seen, err := s.Operations.Watched(t.Context(), time.Minute, 0)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]operations.OutsideSystem{}
		for _, o := range seen.Outside {
			byName[o.Name] = o
		}
		return byName
	}

	late := fault.New(fault.YandexUnavailable, "late").Retry()
	process("one", func(p *liveness.Reporter) {
		p.Note(operations.Yandex, late)
		p.Note(operations.Telegram, late)
		p.Note(operations.Telegram, nil)
		p.Note(operations.Fragment, fault.New(fault.FragmentUnauthorized, "no"))
		p.Note(operations.Toncenter, fault.New(fault.FileNotFound, "an answer"))
		p.Note(operations.QBittorrent, context.Canceled)
	})

	first := look()
	if y := first[operations.Yandex]; y.FailingSince == nil || y.SucceededAt != nil || y.Error != string(fault.YandexUnavailable) {
		t.Errorf("%+v", y)
	}
	if o := first[operations.Telegram]; o.FailingSince != nil || o.SucceededAt == nil || o.Error != string(fault.YandexUnavailable) {
		t.Errorf("%+v", o)
	}
	if first[operations.Fragment].FailingSince == nil || first[operations.Toncenter].FailingSince != nil || first[operations.PostgreSQL].Name != "" {
		t.Errorf("%+v", first)
	}
	if _, called := first[operations.QBittorrent]; called {
		t.Error("a call that was given up says something")
	}

	process("two", func(p *liveness.Reporter) { p.Note(operations.Yandex, late); p.Note(operations.Fragment, nil) })
	second := look()
	if since := second[operations.Yandex].FailingSince; since == nil || !since.Equal(*first[operations.Yandex].FailingSince) {
		t.Errorf("failing since %v, at first %v", since, first[operations.Yandex].FailingSince)
	}
	if second[operations.Fragment].FailingSince != nil {
		t.Errorf("%+v", second[operations.Fragment])
	}
	if left, err := s.Operations.Watched(t.Context(), time.Hour, 1); err != nil || len(left.Processes) != 0 {
		t.Errorf("processes that ended: %+v, %v", left.Processes, err)
	}
}

// TestWorkers merges what processes and Temporal report.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	if err := s.Operations.SaveHeartbeat(t.Context(), operations.Process{Identity: "1@h@worker", Service: "worker", Version: "0.1.0", InFlight: 2, StartedAt: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Operations.SaveHeartbeat(t.Context(), operations.Process{Identity: "1@h@api", Service: "api", Version: "0.1.0", StartedAt: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}

	c := &mocks.Client{}
	c.On("WorkflowService", mock.Anything).Return(&queues{depth: 5, pollers: []*taskqueuepb.PollerInfo{
		{Identity: "1@h@worker", LastAccessTime: timestamppb.Now()}, {Identity: "2@h@old", LastAccessTime: timestamppb.Now()},
	}})
	got, err := status.New(status.Options{
		Store: s, Temporal: c, Queue: queue, Queues: []string{"stagecoach", queue},
	}).Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if w := got.Workers; len(w) != 3 || w[0].Service != "worker" || *w[0].InFlight != 2 || !slices.Equal(w[0].Queues, []string{queue, "stagecoach"}) ||
		w[1].Service != "api" || len(w[1].Queues) != 0 || w[2].Identity != "2@h@old" || w[2].InFlight != nil {
		t.Errorf("%+v", w)
	}
	if q := got.Queues; len(q) != 3 || q[0].Kind != "workflow" || q[2].Depth != 5 || q[2].OldestAge != 7 || got.QueueDepth != 5 {
		t.Errorf("%+v", q)
	}
}
