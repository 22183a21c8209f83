package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store"
)

type doctorBody struct {
	Works     bool                `json:"works" doc:"Whether every process has answered the last request, each check works or is off, and every task queue is served"`
	Request   string              `json:"request" example:"3" doc:"The last request for checks; 0: there was none, and checks are those of the starts"`
	AskedAt   *time.Time          `json:"asked_at" example:"2026-03-01T12:00:00Z" doc:"null: there was no request"`
	Processes []processChecksBody `json:"processes" doc:"The processes that were heard of lately"`
	Unserved  []string            `json:"unserved_queues" example:"[\"payments\"]" doc:"Task queues that no process serves; those of payments once there is a wallet"`
}

type processChecksBody struct {
	Identity string      `json:"identity" example:"4711@host@worker"`
	Service  string      `json:"service" example:"worker" doc:"worker or api"`
	Version  string      `json:"version" example:"0.2.0"`
	Answered bool        `json:"answered" doc:"Whether it has looked since the last request"`
	Checks   []checkBody `json:"checks"`
}

type checkBody struct {
	System  string           `json:"system" example:"telegram"`
	State   store.CheckState `json:"state" enum:"works,refused,unreachable,unverified,off" doc:"unverified: only a renewal or a purchase would tell"`
	Account *string          `json:"account" example:"@stagecoach_bot (7000000001)" doc:"Who the process is there; null: not known"`
	Detail  string           `json:"detail" example:"api.telegram.org: files up to 50 MB"`
	Code    *string          `json:"code" example:"TELEGRAM_UNAUTHORIZED" doc:"null: there is no failure"`
	Next    *string          `json:"next" doc:"What to do; null: nothing"`
	FoundAt time.Time        `json:"found_at" example:"2026-03-01T12:00:01Z"`
}

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

func (s *server) getDoctor(ctx context.Context, _ *struct{}) (*answer[doctorBody], error) {
	report, err := s.o.Doctor.Report(ctx)
	if err != nil {
		return nil, err
	}
	return answered(doctorFrom(report)), nil
}

func (s *server) askDoctor(ctx context.Context, _ *struct{}) (*answer[doctorBody], error) {
	report, err := s.o.Doctor.Ask(ctx)
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), askDoctor, "", store.OutcomeDone)
	return answered(doctorFrom(report)), nil
}

func doctorFrom(r doctor.Report) doctorBody {
	body := doctorBody{
		Works: r.Works(), Request: formatID(r.Request.Number), Processes: each(r.Processes, processChecksFrom),
		Unserved: each(r.Unserved, func(queue string) string { return queue }),
	}
	if r.Request.Number > 0 {
		body.AskedAt = optionalUTC(&r.Request.AskedAt)
	}
	return body
}

func processChecksFrom(p doctor.Process) processChecksBody {
	return processChecksBody{
		Identity: p.Identity, Service: p.Service, Version: p.Version, Answered: p.Answered,
		Checks: each(p.Checks, func(c store.Check) checkBody {
			return checkBody{
				System: c.System, State: c.State, Account: optional(c.Account), Detail: c.Detail, Code: optional(string(c.Code)),
				Next: optional(c.Next), FoundAt: utc(c.FoundAt),
			}
		}),
	}
}
