package operators

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store/operations"
)

func (h *handlers) getDoctor(ctx context.Context, _ *struct{}) (shape.Doctor, error) {
	report, err := h.doctor.Report(ctx)
	return server.Shown(report, err, doctorFrom)
}

func (h *handlers) askDoctor(ctx context.Context, _ *struct{}) (none shape.Doctor, err error) {
	report, err := h.doctor.Ask(ctx)
	if err != nil {
		return none, err
	}
	h.Done(ctx, "")
	return doctorFrom(report), nil
}

func doctorFrom(r doctor.Report) shape.Doctor {
	body := shape.Doctor{
		Works: r.Works(), Request: shape.ID(r.Request.Number), Processes: shape.List(r.Processes, processChecksFrom),
		Unserved: shape.List(r.Unserved, func(queue string) string { return queue }),
	}
	if r.Request.Number > 0 {
		body.AskedAt = shape.OptionalTime(&r.Request.AskedAt)
	}
	return body
}

func processChecksFrom(p doctor.Process) shape.ProcessChecks {
	return shape.ProcessChecks{
		Identity: p.Identity, Service: p.Service, Version: p.Version, Answered: p.Answered,
		Checks: shape.List(p.Checks, func(c operations.Check) shape.Check {
			return shape.Check{
				System: c.System, State: string(c.State), Account: shape.Optional(c.Account), Detail: c.Detail,
				Code: shape.Optional(string(c.Code)),
				Next: shape.Optional(c.Next), FoundAt: c.FoundAt.UTC(),
			}
		}),
	}
}
