package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store"
)

var askDoctor = operation{
	id: "ask-doctor", method: http.MethodPost, path: "/v1/doctor", tag: "Operations",
	access: forAdmins, scope: store.ScopeOperate,
	summary: "Ask every process to look again",
	description: "Answers with what is known so far: ask with GET until each process has answered, which takes some " +
		"seconds. No token is renewed for it, and no purchase begun. However many ask, a process rests for five seconds between two looks.",
}

func (s *server) registerDoctor() {
	register(s, operation{
		id: "get-doctor", method: http.MethodGet, path: "/v1/doctor", tag: "Operations",
		access: forAdmins, scope: store.ScopeOperate,
		summary:     "What each process has found with its own credentials",
		description: "Whether it reaches the systems that are configured, who it is there, and what is missing.",
	}, s.getDoctor)
	register(s, askDoctor, s.askDoctor)
}

func (s *server) getDoctor(ctx context.Context, _ *struct{}) (*answer[shape.Doctor], error) {
	report, err := s.o.Doctor.Report(ctx)
	if err != nil {
		return nil, err
	}
	return answered(doctorFrom(report)), nil
}

func (s *server) askDoctor(ctx context.Context, _ *struct{}) (*answer[shape.Doctor], error) {
	report, err := s.o.Doctor.Ask(ctx)
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), askDoctor, "", store.OutcomeDone)
	return answered(doctorFrom(report)), nil
}

func doctorFrom(r doctor.Report) shape.Doctor {
	body := shape.Doctor{
		Works: r.Works(), Request: formatID(r.Request.Number), Processes: mapped(r.Processes, processChecksFrom),
		Unserved: mapped(r.Unserved, func(queue string) string { return queue }),
	}
	if r.Request.Number > 0 {
		body.AskedAt = optionalUTC(&r.Request.AskedAt)
	}
	return body
}

func processChecksFrom(p doctor.Process) shape.ProcessChecks {
	return shape.ProcessChecks{
		Identity: p.Identity, Service: p.Service, Version: p.Version, Answered: p.Answered,
		Checks: mapped(p.Checks, func(c store.Check) shape.Check {
			return shape.Check{
				System: c.System, State: string(c.State), Account: optional(c.Account), Detail: c.Detail,
				Code: optional(string(c.Code)),
				Next: optional(c.Next), FoundAt: utc(c.FoundAt),
			}
		}),
	}
}
