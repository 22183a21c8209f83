package tasks

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/task"
)

type taskStatsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
	Period      string `query:"period" enum:"day,week,month,all" default:"all" doc:"Last 24 hours, 7 days, 30 days, or all time"`
}

// periods are the lengths of the periods; "all" has no beginning.
var periods = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}

func (h *handlers) getTaskStats(ctx context.Context, in *taskStatsInput) (none shape.TaskStats, err error) {
	var since time.Time
	if back, bounded := periods[in.Period]; bounded {
		since = time.Now().Add(-back)
	}

	stats, days, err := h.tasks.Stats(ctx, server.Caller(ctx), server.PathID(in.WorkspaceID), since)
	if err != nil {
		return none, h.Refusal(ctx, in.WorkspaceID, err)
	}

	body := shape.TaskStats{
		WorkspaceID: in.WorkspaceID, Period: in.Period, Created: stats.Created, Done: stats.Done,
		Cancelled: stats.Cancelled, LeadTime: stats.LeadTime, LeadTimeMedian: stats.LeadTimeMedian,
		CycleTime:       stats.CycleTime,
		CycleTimeMedian: stats.CycleTimeMedian,
		Takeovers:       stats.Takeovers, Escalations: stats.Escalations, Expiries: stats.Expiries, Partial: stats.Partial,
		Days: shape.List(days, dayFrom),
	}

	if !since.IsZero() {
		body.Since = shape.OptionalTime(&since)
	}
	return body, nil
}

func dayFrom(d task.TaskDay) shape.TaskDay {
	return shape.TaskDay{
		Day: d.Day.UTC().Format(time.DateOnly), Created: d.Created, Done: d.Done, LeadTimeMedian: d.LeadTimeMedian,
		CycleTimeMedian: d.CycleTimeMedian,
	}
}
