package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

type taskStatsBody struct {
	WorkspaceID     string     `json:"workspace_id" example:"2"`
	Period          string     `json:"period" enum:"day,week,month,all"`
	Since           *time.Time `json:"since" example:"2026-03-01T12:00:00Z" doc:"When the period began; null: with the workspace"`
	Created         int64      `json:"created" example:"20"`
	Done            int64      `json:"done" example:"17"`
	Cancelled       int64      `json:"cancelled" example:"1"`
	LeadTime        *float64   `json:"lead_time_seconds" example:"5400" doc:"From the creation to DONE, on average; null when none was done, here and below"`
	LeadTimeMedian  *float64   `json:"lead_time_median_seconds" example:"3600"`
	CycleTime       *float64   `json:"cycle_time_seconds" example:"1800" doc:"From the first IN_PROGRESS to DONE, on average"`
	CycleTimeMedian *float64   `json:"cycle_time_median_seconds" example:"1200"`
	Takeovers       int64      `json:"takeovers" example:"2"`
	Escalations     int64      `json:"escalations" example:"1"`
	Expiries        int64      `json:"expiries" example:"3" doc:"Deadlines that passed"`
	Partial         bool       `json:"partial" doc:"10,000 tasks or more changed in the period: the figures are those of the 10,000 that changed last"`
}

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

func (s *server) getTaskStats(ctx context.Context, in *taskStatsInput) (*answer[taskStatsBody], error) {
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

	body := taskStatsBody{
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
