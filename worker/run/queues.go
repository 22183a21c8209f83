package run

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// cancelNotice is how soon a running activity learns of a cancellation: the longest time for which the SDK delays a
// heartbeat.
const cancelNotice = 3 * time.Second

// stickyPatience is how long a workflow task waits for the worker that has the workflow in memory; the SDK's default of
// 5 s is too short when a thousand deadlines fire at once.
const stickyPatience = 10 * time.Second

// The slots and pollers of a worker. They do not limit memory: a waiting workflow holds no slot, and with little work a
// worker keeps few pollers. Fewer would leave work waiting in Temporal while the CPU is idle.
const (
	workflowSlots = 1000
	activitySlots = 1000 // of short activities; deliveries have their own slots
	mostPollers   = 100  // of each queue
)

// mainOptions are for the queue of all workflows and of short activities.
func mainOptions(c config.Config) worker.Options {
	o := workerOptions(c)
	o.MaxConcurrentWorkflowTaskExecutionSize = workflowSlots
	o.MaxConcurrentActivityExecutionSize = activitySlots
	// More would wait for a connection, and fall back to ordinary activities in a burst.
	o.MaxConcurrentLocalActivityExecutionSize = 2 * app.Pool(c.Connections, "worker").Usable()
	// Both of the default two pollers may be polling the worker's sticky queue while new workflows wait in the shared one.
	o.WorkflowTaskPollerBehavior = worker.NewPollerBehaviorAutoscaling(
		worker.PollerBehaviorAutoscalingOptions{MaximumNumberOfPollers: mostPollers},
	)

	// For many simultaneous timers: a task that has waited for long is not rescheduled and replayed from the start. The
	// price: when a worker dies, its workflows are delayed by as much.
	o.StickyScheduleToStartTimeout = stickyPatience
	return o
}

// streamingOptions are for the queue of deliveries, whose slots never hold up other work.
func streamingOptions(c config.Config) worker.Options {
	o := activityOptions(c, c.Delivery.Parallel)
	// Two pollers cannot fetch many small jobs fast enough. More are only started with a backlog, because each poll of a
	// worker that freezes loses an attempt.
	o.ActivityTaskPollerBehavior = worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 2, MaximumNumberOfPollers: mostPollers,
	})

	// By default the SDK holds a heartbeat back for four fifths of its timeout: on a busy machine one second would lose
	// the attempt.
	o.MaxHeartbeatThrottleInterval = min(cancelNotice, c.Delivery.Heartbeat/3)
	return o
}

// filesAtOnce is how many .torrent files a worker holds in memory concurrently. The largest take some 32 MiB each while
// being fetched.
const filesAtOnce = 2

// promptOptions are activityOptions for activities that learn of a cancellation quickly.
func promptOptions(c config.Config, atOnce int) worker.Options {
	o := activityOptions(c, atOnce)
	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}

// paymentsOptions are for the queues of purchases and of refunds: a process has one slot in each. Their activities,
// like the wallet's, use reserved connections to PostgreSQL: users' load never delays a payment.
func paymentsOptions(c config.Config) worker.Options {
	o := reservedOptions(c, 1)
	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}

// reservedOptions are for the queues of what follows the wallet and its payments.
func reservedOptions(c config.Config, slots int) worker.Options {
	o := activityOptions(c, slots)
	o.BackgroundActivityContext = core.Reserved(context.Background())
	return o
}

// served lists this program's task queues that a process serves.
func served(c config.Config, parts []part) (queues []string) {
	if c.Worker.Serves(lifecycle.MainQueue) {
		queues = append(queues, lifecycle.MainQueue)
	}

	for _, part := range parts {
		for _, queue := range part.queues {
			if c.Worker.Serves(queue.name) {
				queues = append(queues, queue.name)
			}
		}
	}

	return queues
}

// activityOptions are for a queue of activities, with a limit on concurrent ones.
func activityOptions(c config.Config, atOnce int) worker.Options {
	o := workerOptions(c)
	o.MaxConcurrentActivityExecutionSize = atOnce
	o.DisableWorkflowWorker = true
	return o
}

// workerOptions are common to all of a process's workers.
func workerOptions(c config.Config) worker.Options {
	o := worker.Options{WorkerStopTimeout: c.Worker.StopTimeout}
	if version := c.Worker.Version; version.Deployment != "" {
		o.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true,
			Version:       worker.WorkerDeploymentVersion{DeploymentName: version.Deployment, BuildID: version.Build},
		}
	}
	return o
}

// handOverAfter is how long an attempt continues in a stopping worker: it ends in time to report that.
func handOverAfter(stopTimeout time.Duration) time.Duration {
	return stopTimeout - min(stopTimeout/2, 5*time.Second)
}

// startAll starts workers; stop stops them concurrently, so that a process takes no longer than one worker's stop
// timeout.
func startAll(workers ...worker.Worker) (stop func(), err error) {
	var started []worker.Worker
	stop = func() {
		var stopping sync.WaitGroup
		for _, w := range started {
			stopping.Go(w.Stop)
		}
		stopping.Wait()
	}

	for _, w := range workers {
		if err := w.Start(); err != nil {
			stop()
			return nil, err
		}
		started = append(started, w)
	}

	return stop, nil
}
