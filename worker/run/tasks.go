package run

import (
	"stagecoach/activities/task"
	"stagecoach/internal/service"
)

// taskPart gives what tasks need.
func (p process) taskPart(service.Services) (part, error) {
	return part{main: register(&task.Activities{Store: p.Store.Tasks, Temporal: p.Temporal, Metrics: p.Metrics.Task()})}, nil
}
