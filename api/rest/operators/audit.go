package operators

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

const auditCursor = "audit"

var listAudit = server.Operation{
	Id: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Tag: "Operations", Access: server.ForAdmins,
	Scope:   account.ScopeOperate,
	Summary: "What administrators did and what people were refused, the newest first",
}

func (h *handlers) listAudit(ctx context.Context, in *server.Paging) (shape.Page[shape.Audit], error) {
	return server.ListOf(*in, auditCursor, func(before int64, limit int) ([]account.AuditEntry, error) {
		return h.Store.AuditLog(ctx, before, limit)
	}, func(e account.AuditEntry) int64 { return e.ID }, auditFrom)
}

func auditFrom(e account.AuditEntry) shape.Audit {
	return shape.Audit{
		ID: shape.ID(e.ID), ActorID: shape.OptionalID(e.ActorID), Action: e.Action, Subject: e.Subject,
		Outcome: e.Outcome, Door: e.Door, CreatedAt: e.CreatedAt.UTC(),
	}
}
