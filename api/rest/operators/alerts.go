package operators

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/notice"
)

const alertsCursor = "alerts"

type listAlertsInput struct {
	server.Paging
	Open bool `query:"open" doc:"Only alerts that have not ended"`
}

func (h *handlers) listAlerts(ctx context.Context, in *listAlertsInput) (shape.Page[shape.Alert], error) {
	return server.ListOf(in.Paging, alertsCursor, func(before int64, limit int) ([]notice.Incident, error) {
		return h.Store.Notices.Incidents(ctx, in.Open, before, limit)
	}, func(i notice.Incident) int64 { return i.ID }, alertFrom)
}

func alertFrom(i notice.Incident) shape.Alert {
	return shape.Alert{
		ID: shape.ID(i.ID), Kind: i.Kind, OpenedAt: i.OpenedAt.UTC(), ResolvedAt: shape.OptionalTime(i.ResolvedAt),
	}
}
