package app

import (
	"time"

	"stagecoach/internal/allowance"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store/task"
)

// leastTimes are the minimums for a workspace's settings, also applied to shorter stored ones. They bound how often an
// unwanted task cycles between NEW and STUCK.
var leastTimes = task.Times{LeastDeadline: time.Second, LeastRelease: time.Minute}

// waitingOfPerson is how many callers of a person and their agents may wait for the next task in each process: each
// holds a connection.
const waitingOfPerson = 50

func (a *Connections) Tasks() *tasks.Service {
	counted := a.Metrics.Task()
	startAtZero(counted.Ended, lifecycle.Task.Ended()...)
	return &tasks.Service{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Patience: requestPatience,
		LeastDeadline: leastTimes.LeastDeadline, LeastRelease: leastTimes.LeastRelease,
		Searches:  allowance.NewTaskSearches(),
		Line:      waiting.NewLine(waitingOfPerson, func(n int) { counted.Waiting.Set(float64(n)) }),
		OnCreated: func(n int) { counted.Created.Add(float64(n)) },
	}
}
