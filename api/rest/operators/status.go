package operators

import (
	"context"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// describeCounts adds a field for each workload, which the Go type does not have, to the schema of a status.
func describeCounts(schema *huma.Schema) {
	for _, workload := range lifecycle.Workloads {
		rows, unit, _ := strings.Cut(workload.Counted, "_in_")
		units := unit + "s"
		if unit == "status" {
			units = "statuses"
		}

		schema.Required = append(schema.Required, workload.Counted)
		schema.Properties[workload.Counted] = &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeInteger, Format: "int64"},
			Description: fmt.Sprintf("All %s, including those without %s", units, rows),
			Examples:    []any{map[string]int{workload.Table.StateNames()[0]: 3}},
		}
	}
}

func (h *handlers) getStatus(ctx context.Context, _ *struct{}) (shape.Status, error) {
	now, err := h.status.Now(ctx)
	return server.Shown(now, err, statusFrom)
}

func statusFrom(now status.Status) shape.Status {
	body := shape.Status{
		At: now.At.UTC(), QueueDepth: now.QueueDepth, InState: now.InState, WorkerHeartbeatAge: now.WorkerHeartbeatAge,
		OAuthTokenExpiresIn: now.TokenExpiresIn, Stuck: now.Stuck(), StuckJobs: shape.List(now.StuckJobs, shape.ID),
		NeedsReview: now.NeedsReview, TemporalAnswers: now.TemporalAnswers, OpenFindings: now.OpenFindings,
		TopErrors: shape.List(now.TopErrors, func(e operations.ErrorCount) shape.ErrorCount { return shape.ErrorCount(e) }),
		AboveLimits: shape.List(now.AboveLimits, func(a operations.AboveQuota) shape.AboveLimit {
			return shape.AboveLimit{UserID: shape.ID(a.UserID), Limit: a.Limit, Maximum: a.Maximum, Count: a.Count}
		}),
		Queues:  shape.List(now.Queues, func(q status.Queue) shape.TaskQueue { return shape.TaskQueue(q) }),
		Workers: shape.List(now.Workers, workerFrom),
		Outside: shape.List(now.Outside, outsideFrom),
		Errors: shape.List(
			now.Errors, func(e operations.WorkloadErrorCount) shape.WorkloadError { return shape.WorkloadError(e) },
		),
		Alerts: shape.List(now.Alerts, func(a notice.OpenAlert) shape.OpenAlert {
			return shape.OpenAlert{Kind: a.Kind, OpenedAt: a.OpenedAt.UTC()}
		}),
		Stops: shape.List(now.Stops, func(s transaction.Switch) shape.Stop {
			return shape.Stop{Name: s.Name, Since: shape.OptionalTime(s.Since), Reason: s.Reason}
		}),
		Findings: shape.List(now.Findings, findingFrom),
	}

	if q := now.QBittorrent; q != nil {
		body.QBittorrent = &shape.Qbittorrent{Answers: q.Answers, AnswerAge: q.AnswerAge, Error: shape.Optional(q.Error)}
	}
	return body
}

func workerFrom(w status.Worker) shape.Worker {
	return shape.Worker{
		Identity: w.Identity, Service: shape.Optional(w.Service), Version: shape.Optional(w.Version),
		Build:     shape.Optional(w.Build),
		LastHeard: w.LastHeard, Carries: w.InFlight, Queues: w.Queues,
	}
}

func outsideFrom(o status.Outside) shape.Outside {
	return shape.Outside{
		Name: o.Name, Answers: o.Answers, SuccessAge: o.SuccessAge, Error: shape.Optional(o.Error), ErrorAge: o.FailureAge,
		FailingFor: o.FailingFor,
	}
}
