package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

type taskStatsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
	Period      string `query:"period" enum:"day,week,month,all" default:"all" doc:"The last 24 hours, 7 days or 30 days, or everything"`
}

// periods are how far back each looks; all has no beginning.
var periods = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}

var getTaskStats = operation{
	id: "get-task-stats", method: http.MethodGet, path: "/v1/stats/tasks", tag: "Tasks", access: forUsers,
	scope: store.ScopeRead, subject: "workspace",
	summary: "How work goes in a workspace", faults: []fault.Code{fault.WorkspaceNotFound},
}

func (s *server) registerTaskStats() {
	register(s, getTaskStats, s.getTaskStats)
}

func (s *server) getTaskStats(ctx context.Context, in *taskStatsInput) (*answer[shape.TaskStats], error) {
	id, err := parseWorkspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}

	var since time.Time
	if back, bounded := periods[in.Period]; bounded {
		since = time.Now().Add(-back)
	}

	stats, err := s.o.Tasks.Stats(ctx, caller(ctx), id, since)
	if err != nil {
		return nil, s.refusal(ctx, getTaskStats, in.WorkspaceID, err)
	}

	body := shape.TaskStats{
		WorkspaceID: in.WorkspaceID, Period: in.Period, Created: stats.Created, Done: stats.Done, Cancelled: stats.Cancelled,
		LeadTime: stats.LeadTime, LeadTimeMedian: stats.LeadTimeMedian, CycleTime: stats.CycleTime,
		CycleTimeMedian: stats.CycleTimeMedian,
		Takeovers:       stats.Takeovers, Escalations: stats.Escalations, Expiries: stats.Expiries, Partial: stats.Partial,
	}

	if !since.IsZero() {
		body.Since = optionalUTC(&since)
	}
	return answered(body), nil
}
