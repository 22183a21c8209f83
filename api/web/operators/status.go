package operators

import (
	"time"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/internal/lifecycle"
)

type statusView struct {
	shape.Status
	Calm      bool // nothing needs an administrator
	Workloads []workload
	Processes []process
	Systems   []system
}

// workload has the number of entities of one workload by state.
type workload struct {
	Name   string
	States []site.StateCount // without the empty ones
}

// process is a process of the service. It has the heartbeat's time instead of its age, which would be wrong on a page
// that stays open.
type process struct {
	shape.Worker
	HeardAt time.Time
}

// system is an external system, with times instead of ages.
type system struct {
	shape.Outside
	SucceededAt, FailedAt, FailingSince *time.Time
}

// showStatus shows the state of the service.
func showStatus(r *site.Request) (site.View, error) {
	now, err := site.Get[shape.Status](r, "/v1/status")
	if err != nil {
		return site.View{}, err
	}

	view := statusView{
		Status: now, Workloads: workloadsOf(now),
		Calm: len(now.Alerts)+len(now.Stops)+len(now.StuckJobs)+len(now.AboveLimits) == 0 && now.TemporalAnswers &&
			now.NeedsReview == 0 && now.OpenFindings == 0,
	}

	for _, worker := range now.Workers {
		view.Processes = append(view.Processes, process{worker, *before(now.At, &worker.LastHeard)})
	}

	for _, outside := range now.Outside {
		view.Systems = append(view.Systems, system{
			Outside: outside, SucceededAt: before(now.At, outside.SuccessAge), FailedAt: before(now.At, outside.ErrorAge),
			FailingSince: before(now.At, outside.FailingFor),
		})
	}

	return site.View{Data: view}, nil
}

func workloadsOf(now shape.Status) (all []workload) {
	for _, one := range lifecycle.Workloads {
		all = append(all, workload{one.Name, site.CountStates(one, now.InState[one.Name])})
	}
	return all
}

// before subtracts seconds from a time; nil: unknown.
func before(at time.Time, seconds *float64) *time.Time {
	if seconds == nil {
		return nil
	}
	moment := at.Add(-time.Duration(*seconds * float64(time.Second)))
	return &moment
}
