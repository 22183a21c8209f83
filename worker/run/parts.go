package run

import (
	"context"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/workflows"
	deliveryworkflow "stagecoach/workflows/delivery"
	downloadworkflow "stagecoach/workflows/download"
	transactionworkflow "stagecoach/workflows/transaction"
)

// part is what one workload, or the operations, contribute to the workers of a process.
type part struct {
	main   func(worker.ActivityRegistry) // adds its activities to the main queue's worker
	queues []queue                       // other queues that this process serves
	start  func(context.Context) error   // further setup, once the workers run; retried until it succeeds; nil: none
}

// queue is a task queue and what its worker does.
type queue struct {
	name     string
	options  worker.Options
	register func(worker.ActivityRegistry)
}

// register returns a function that registers structs of activities.
func register(activities ...any) func(worker.ActivityRegistry) {
	return func(w worker.ActivityRegistry) {
		for _, one := range activities {
			w.RegisterActivity(one)
		}
	}
}

// parts returns the parts of the workers, in the order of lifecycle.Workloads.
func (p process) parts() (list []part, err error) {
	services := all.From(p)
	for _, newPart := range []func(all.Services) (part, error){
		p.deliveryPart, p.taskPart, p.downloadPart, p.transactionPart, p.webhookPart, p.operationsPart,
	} {
		one, err := newPart(services)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// workflowSettings are the settings of all workflows.
func workflowSettings(c config.Config) workflows.Settings {
	return workflows.Settings{
		Delivery: deliveryworkflow.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
			HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
		},
		Download:    downloadworkflow.Settings{Grace: c.Download.Grace, AddEvery: addEvery, AddTries: addTries},
		Transaction: transactionworkflow.Settings{StuckAfter: lifecycle.TransactionStuckAfter},
	}
}

// workers returns a worker for each queue that this process serves.
func (p process) workers(parts []part) (all []worker.Worker) {
	add := func(queue string, o worker.Options) worker.Worker {
		o.Interceptors = []interceptor.WorkerInterceptor{p.Liveness.Worker()}
		w := worker.New(p.Temporal, queue, o)
		all = append(all, w)
		return w
	}

	if p.Config.Worker.Serves(lifecycle.MainQueue) {
		registerMain(add(lifecycle.MainQueue, mainOptions(p.Config)), parts, workflowSettings(p.Config))
	}
	for _, part := range parts {
		for _, queue := range part.queues {
			queue.register(add(queue.name, queue.options))
		}
	}
	return all
}

// registerMain adds all workflows and the activities of the main queue to its worker.
func registerMain(w worker.Worker, parts []part, settings workflows.Settings) {
	workflows.Register(w, settings)
	for _, part := range parts {
		part.main(w)
	}
}
