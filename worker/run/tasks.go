package run

import (
	"stagecoach/activities/task"
	"stagecoach/internal/service/all"
)

// taskPart returns the part of tasks.
func (p process) taskPart(all.Services) (part, error) {
	return part{main: register(&task.Activities{Store: p.Store.Tasks, Temporal: p.Temporal, Metrics: p.Metrics.Task()})}, nil
}
