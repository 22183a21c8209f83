package app

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store/task"
)

// leastTimes are the shortest times that a workspace may set; a shorter stored one counts as this one. They bound how
// often a task that nobody wants goes round between NEW and STUCK.
var leastTimes = task.Times{LeastDeadline: time.Second, LeastRelease: time.Minute}

// waitingOfUser is how many callers of a user may wait for the next task in each process: each holds a connection.
const waitingOfUser = 50

// Tasks makes the service of tasks.
func (a *Connections) Tasks() *service.Tasks {
	counted := a.Metrics.Task()
	startAtZero(counted.Ended, lifecycle.Task.Ended()...)
	return &service.Tasks{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Patience: requestPatience,
		LeastDeadline: leastTimes.LeastDeadline, LeastRelease: leastTimes.LeastRelease,
		Line:      waiting.NewLine(waitingOfUser, func(n int) { counted.Waiting.Set(float64(n)) }),
		OnCreated: func(n int) { counted.Created.Add(float64(n)) },
	}
}
