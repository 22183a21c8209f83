package status

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// queueTime is how long Temporal may take to describe the queues: a status without them is better than none.
const queueTime = 2 * time.Second

// Queue is one task queue. Times are seconds.
type Queue struct {
	Name      string
	Kind      string // workflow, activity
	Depth     int64  // waiting tasks
	OldestAge float64
	Workers   int // processes that poll it
}

// poller is a process that polls a queue.
type poller struct {
	identity, queue, build string
	age                    float64 // seconds
}

// queues queries Temporal for waiting tasks and pollers. A worker polls at least once a minute while it has room; one
// without room is known by its jobs' heartbeats.
func (r *Reporter) queues(ctx context.Context, s *Status) error {
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()

	type answer struct {
		queue   Queue
		pollers []poller
		err     error
	}

	var asked []*answer
	var asking sync.WaitGroup
	ask := func(name, kind string, of enumspb.TaskQueueType) {
		a := &answer{queue: Queue{Name: name, Kind: kind}}
		asked = append(asked, a)
		asking.Go(func() { a.pollers, a.err = r.describe(ctx, &a.queue, of) })
	}

	for i, name := range r.o.Queues {
		if i == 0 && name != r.o.Queue { // workflows wait in the first one
			ask(name, "workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		}
		ask(name, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	}

	asking.Wait()
	for _, a := range asked {
		if a.err != nil {
			r.o.Log.Warn("describing the task queue failed", "queue", a.queue.Name, "error", a.err)
			continue
		}

		s.Queues = append(s.Queues, a.queue)
		s.pollers = append(s.pollers, a.pollers...)
		if a.queue.Name != r.o.Queue {
			continue
		}

		s.QueueDepth, s.QueueKnown = a.queue.Depth, true
		for _, p := range a.pollers {
			s.WorkerHeartbeatAge = younger(s.WorkerHeartbeatAge, &p.age)
		}
	}

	s.TemporalAnswers = len(s.Queues) > 0
	return nil
}

func (r *Reporter) describe(ctx context.Context, q *Queue, of enumspb.TaskQueueType) (pollers []poller, err error) {
	described, err := r.o.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: r.o.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: q.Name}, TaskQueueType: of, ReportStats: true,
	})
	if err != nil {
		return nil, err
	}

	q.Depth = described.GetStats().GetApproximateBacklogCount()
	q.OldestAge = described.GetStats().GetApproximateBacklogAge().AsDuration().Seconds()
	q.Workers = len(described.GetPollers())
	for _, p := range described.GetPollers() {
		pollers = append(pollers, poller{
			identity: p.GetIdentity(), queue: q.Name, build: p.GetDeploymentOptions().GetBuildId(),
			age: max(0, time.Since(p.GetLastAccessTime().AsTime()).Seconds()),
		})
	}

	return pollers, nil
}
