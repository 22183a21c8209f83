package run

import (
	"context"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/workflows"
)

// part is what one workload, or the operations, give to the workers of a process.
type part struct {
	main   func(worker.ActivityRegistry) // adds its activities to the main queue's worker
	queues []queue                       // others that this process serves
	start  func(context.Context) error   // what always runs, once the workers do; nil: nothing
}

// queue is a task queue with what its worker does.
type queue struct {
	name     string
	options  worker.Options
	register func(worker.ActivityRegistry)
}

// register gives what adds structs of activities to a worker.
func register(activities ...any) func(worker.ActivityRegistry) {
	return func(w worker.ActivityRegistry) {
		for _, one := range activities {
			w.RegisterActivity(one)
		}
	}
}

// parts makes what the workers run, in the order of lifecycle.Workloads.
func (p process) parts() (all []part, err error) {
	services := service.From(p)
	for _, newPart := range []func(service.Services) (part, error){
		p.deliveryPart, p.taskPart, p.downloadPart, p.transactionPart, p.webhookPart, p.operationsPart,
	} {
		one, err := newPart(services)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// workflowSettings are the settings of all workflows.
func workflowSettings(c config.Config) workflows.Settings {
	return workflows.Settings{
		Delivery: deliverySettings(c), Download: downloadSettings(c), Transaction: transactionSettings(c),
	}
}

// workers makes a worker for each queue that this process serves.
func (p process) workers(parts []part) (all []worker.Worker) {
	add := func(queue string, o worker.Options) worker.Worker {
		o.Interceptors = []interceptor.WorkerInterceptor{p.Liveness.Worker()}
		w := worker.New(p.Temporal, queue, o)
		all = append(all, w)
		return w
	}

	if serves(p.Config, lifecycle.MainQueue) {
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
