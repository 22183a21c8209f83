package operators

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

const auditCursor = "audit"

func (h *handlers) listAudit(ctx context.Context, in *server.Paging) (shape.Page[shape.Audit], error) {
	return server.ListOf(*in, auditCursor, func(before int64, limit int) ([]account.AuditEntry, error) {
		return h.Store.Accounts.AuditLog(ctx, before, limit)
	}, func(e account.AuditEntry) int64 { return e.ID }, auditFrom)
}

func auditFrom(e account.AuditEntry) shape.Audit {
	return shape.Audit{
		ID: shape.ID(e.ID), ActorID: shape.OptionalID(e.ActorID), Action: e.Action, Subject: e.Subject,
		Outcome: e.Outcome, Door: e.Door, Count: e.Count, Detail: e.Detail, CreatedAt: e.CreatedAt.UTC(),
	}
}
