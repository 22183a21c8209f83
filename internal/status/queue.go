package status

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// queueTime is how long Temporal may take to describe the queue: a status without it is better than none.
const queueTime = 2 * time.Second

type queue struct {
	depth        int64
	heartbeatAge *float64 // seconds
}

// queue asks Temporal how many activities wait and when a worker last asked for one. A worker asks at least once a
// minute while it has room; that of one with no room is told by its jobs' heartbeats.
func (r *Reporter) queue(ctx context.Context) (queue, error) {
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	described, err := r.o.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace:     r.o.Namespace,
		TaskQueue:     &taskqueuepb.TaskQueue{Name: r.o.Queue},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
		ReportStats:   true,
	})
	if err != nil {
		return queue{}, err
	}
	q := queue{depth: described.GetStats().GetApproximateBacklogCount()}
	for _, poller := range described.GetPollers() {
		age := max(0, time.Since(poller.GetLastAccessTime().AsTime()).Seconds())
		q.heartbeatAge = younger(q.heartbeatAge, &age)
	}
	return q, nil
}
