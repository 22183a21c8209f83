package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

func (s *server) registerStatus() {
	register(s, operation{
		id: "get-status", method: http.MethodGet, path: "/v1/status", tag: "Operations", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "How the whole is doing",
	}, s.getStatus)
}

func (s *server) getStatus(ctx context.Context, _ *struct{}) (*answer[shape.Status], error) {
	now, err := s.o.Status.Now(ctx)
	if err != nil {
		return nil, err
	}
	return answered(statusFrom(now)), nil
}

func statusFrom(now status.Status) shape.Status {
	body := shape.Status{
		At: utc(now.At), QueueDepth: now.QueueDepth, JobsInState: now.JobsInState, WorkerHeartbeatAge: now.WorkerHeartbeatAge,
		OAuthTokenExpiresIn: now.TokenExpiresIn, Stuck: now.Stuck(), StuckJobs: mapped(now.StuckJobs, formatID),
		DownloadsInStatus: now.DownloadsInStatus, TasksInStatus: now.TasksInStatus,
		TransactionsInStatus: now.TransactionsInStatus, NeedsReview: now.NeedsReview,
		TemporalAnswers: now.TemporalAnswers, OpenFindings: now.OpenFindings,
		TopErrors: mapped(now.TopErrors, func(e store.ErrorCount) shape.ErrorCount { return shape.ErrorCount(e) }),
		AboveLimits: mapped(now.AboveLimits, func(a store.AboveQuota) shape.AboveLimit {
			return shape.AboveLimit{UserID: formatID(a.UserID), Limit: a.Limit, Maximum: a.Maximum, Count: a.Count}
		}),
		Queues:  mapped(now.Queues, func(q status.Queue) shape.TaskQueue { return shape.TaskQueue(q) }),
		Workers: mapped(now.Workers, workerFrom),
		Outside: mapped(now.Outside, outsideFrom),
		Errors:  mapped(now.Errors, func(e store.WorkloadErrorCount) shape.WorkloadError { return shape.WorkloadError(e) }),
		Alerts: mapped(now.Alerts, func(a store.OpenAlert) shape.OpenAlert {
			return shape.OpenAlert{Kind: a.Kind, OpenedAt: utc(a.OpenedAt)}
		}),
		Stops: mapped(now.Stops, func(s store.Switch) shape.Stop {
			return shape.Stop{Name: s.Name, Since: optionalUTC(s.Since), Reason: s.Reason, RetryAt: optionalUTC(s.RetryAt)}
		}),
		Findings: mapped(now.Findings, findingFrom),
	}

	if q := now.QBittorrent; q != nil {
		body.QBittorrent = &shape.Qbittorrent{Answers: q.Answers, AnswerAge: q.AnswerAge, Error: optional(q.Error)}
	}
	return body
}

func workerFrom(w status.Worker) shape.Worker {
	return shape.Worker{
		Identity: w.Identity, Service: optional(w.Service), Version: optional(w.Version), Build: optional(w.Build),
		LastHeard: w.LastHeard, Carries: w.Carries, Queues: w.Queues,
	}
}

func outsideFrom(o status.Outside) shape.Outside {
	return shape.Outside{
		Name: o.Name, Answers: o.Answers, SuccessAge: o.SuccessAge, Error: optional(o.Error), ErrorAge: o.FailureAge,
		FailingFor: o.FailingFor,
	}
}
