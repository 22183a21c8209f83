package server

import (
	"context"

	"stagecoach/api/shape"
	"stagecoach/internal/store/core"
)

// Events responds with all events of an entity, from the first.
func (s *Server) Events(ctx context.Context, workload string, id int64) (none shape.Page[shape.History], err error) {
	events, err := s.Store.Notices.EventsOf(ctx, workload, shape.ID(id))
	if err != nil {
		return none, err
	}
	return shape.Page[shape.History]{Items: shape.List(events, HistoryFrom)}, nil
}

// HistoryFrom shows one event of an entity.
func HistoryFrom(e core.StreamedEvent) shape.History { return e.Shown().History }
