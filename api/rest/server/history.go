package server

import (
	"stagecoach/api/shape"
	"stagecoach/internal/store/core"
)

func HistoryFrom(e core.StreamedEvent) shape.History {
	return shape.History{
		Seq: e.Seq, Type: e.Type, ActorID: shape.OptionalID(e.ActorID), From: e.From, To: e.To, Comment: e.Comment,
		CreatedAt: e.CreatedAt.UTC(),
	}
}
