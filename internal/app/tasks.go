package app

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/service/waiting"
)

// Tasks makes the service of tasks.
func (a *Connections) Tasks() *service.Tasks {
	counted := a.Metrics.Task()
	startAtZero(counted.Ended, lifecycle.Task.Ended()...)
	return &service.Tasks{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Patience: requestPatience,
		LeastDeadline: a.Config.Tasks.LeastDeadline, LeastRelease: a.Config.Tasks.LeastRelease,
		Line:      waiting.NewLine(a.Config.API.WaitingPerUser, func(n int) { counted.Waiting.Set(float64(n)) }),
		OnCreated: func(n int) { counted.Created.Add(float64(n)) },
	}
}
