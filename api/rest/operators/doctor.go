package operators

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/operations"
)

var (
	getDoctor = server.Operation{
		Id: "get-doctor", Method: http.MethodGet, Path: "/v1/doctor", Tag: "Operations",
		Access: server.ForAdmins, Scope: account.ScopeOperate,
		Summary:     "What each process has found with its own credentials",
		Description: "Whether it reaches the systems that are configured, who it is there, and what is missing.",
	}
	askDoctor = server.Operation{
		Id: "ask-doctor", Method: http.MethodPost, Path: "/v1/doctor", Tag: "Operations",
		Access: server.ForAdmins, Scope: account.ScopeOperate,
		Summary: "Ask every process to check again",
		Description: "Answers with what is known so far: ask with GET until each process has answered, which takes some " +
			"seconds. No token is renewed for it, and no purchase begun. However many ask, a process rests for five seconds between two looks.",
	}
)

func (h *handlers) getDoctor(ctx context.Context, _ *struct{}) (shape.Doctor, error) {
	report, err := h.doctor.Report(ctx)
	return doctorFrom(report), err
}

func (h *handlers) askDoctor(ctx context.Context, _ *struct{}) (none shape.Doctor, err error) {
	report, err := h.doctor.Ask(ctx)
	if err != nil {
		return none, err
	}
	h.Audit(ctx, server.Caller(ctx), askDoctor, "", account.OutcomeDone)
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
