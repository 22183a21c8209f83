package rest

import (
	"stagecoach/api/shape"
	"stagecoach/internal/store"
)

func historyFrom(e store.StreamedEvent) shape.History {
	return shape.History{
		Seq: e.Seq, Type: e.Type, ActorID: formatOptionalID(e.ActorID), From: e.From, To: e.To, Comment: e.Comment,
		CreatedAt: utc(e.CreatedAt),
	}
}
