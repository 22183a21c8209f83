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

// stickyPatience is how long a workflow's task waits for the worker that has the workflow in memory; the SDK's own 5 s
// are too few when a thousand deadlines fall due at once.
const stickyPatience = 10 * time.Second

// The slots and polls of a worker. Memory is not what they bound: a workflow that waits holds no slot, and with little
// work a worker keeps few polls open. Fewer make work wait in Temporal while the processor is idle.
const (
	workflowSlots = 1000
	activitySlots = 1000 // of short activities; deliveries have slots of their own
	mostPollers   = 100  // of each queue
)

// mainOptions are for the queue of all workflows and of short activities.
func mainOptions(c config.Config) worker.Options {
	o := workerOptions(c)
	o.MaxConcurrentWorkflowTaskExecutionSize = workflowSlots
	o.MaxConcurrentActivityExecutionSize = activitySlots
	// More would wait for a connection, and fall back to ordinary activities when a burst comes.
	o.MaxConcurrentLocalActivityExecutionSize = 2 * app.Pool(c.Connections, "worker").Usable()
	// The default two pollers may both wait at the worker's own sticky queue while new workflows wait in the common
	// one.
	o.WorkflowTaskPollerBehavior = worker.NewPollerBehaviorAutoscaling(
		worker.PollerBehaviorAutoscalingOptions{MaximumNumberOfPollers: mostPollers},
	)

	// For many timers at once: a task that has waited long is not returned and replayed from its start. A worker that
	// has died delays its workflows for as long.
	o.StickyScheduleToStartTimeout = stickyPatience
	return o
}

// streamingOptions are for the queue of deliveries, whose slots never hold up the others' work.
func streamingOptions(c config.Config) worker.Options {
	o := activityOptions(c, c.Delivery.Parallel)
	// Two pollers cannot fetch many small jobs fast enough. More pollers come with a backlog only, because each poll of
	// a worker that freezes loses an attempt.
	o.ActivityTaskPollerBehavior = worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 2, MaximumNumberOfPollers: mostPollers,
	})

	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}

// filesAtOnce is how many .torrent files a worker has in memory at once. One of the largest costs some 32 MiB while it
// is fetched.
const filesAtOnce = 2

// filesOptions are for the queue of .torrent files.
func filesOptions(c config.Config) worker.Options {
	o := activityOptions(c, filesAtOnce)
	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}

// paymentsOptions are for the queue of the wallet's turn: a process has one slot. Its activities use reserved connections to
// PostgreSQL, as do those of the wallet: users' load never delays a payment.
func paymentsOptions(c config.Config) worker.Options {
	o := reservedOptions(c, 1)
	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}

// walletOptions are for the queue of what follows the wallet and its payments beside the turn.
func walletOptions(c config.Config) worker.Options { return reservedOptions(c, activitySlots) }

func reservedOptions(c config.Config, slots int) worker.Options {
	o := activityOptions(c, slots)
	o.BackgroundActivityContext = core.Reserved(context.Background())
	return o
}

// serves says whether a process with these settings serves a queue.
func serves(c config.Config, queue string) bool {
	return c.Worker.Serves(queue)
}

// served lists the task queues of this program that a process serves.
func served(c config.Config, parts []part) (queues []string) {
	if serves(c, lifecycle.MainQueue) {
		queues = append(queues, lifecycle.MainQueue)
	}

	for _, part := range parts {
		for _, queue := range part.queues {
			if serves(c, queue.name) {
				queues = append(queues, queue.name)
			}
		}
	}

	return queues
}

// activityOptions are for a queue of activities, of which so many run at once.
func activityOptions(c config.Config, atOnce int) worker.Options {
	o := workerOptions(c)
	o.MaxConcurrentActivityExecutionSize = atOnce
	o.DisableWorkflowWorker = true
	return o
}

// workerOptions are what all of a process's workers have.
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

// handOverAfter is how long an attempt continues in a worker that is stopping: it ends in time to report that.
func handOverAfter(stopTimeout time.Duration) time.Duration {
	return stopTimeout - min(stopTimeout/2, 5*time.Second)
}

// startAll starts workers; stop stops them all at once, so that a process needs no longer than one worker's stop
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
