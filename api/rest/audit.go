package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/store"
)

const auditCursor = "audit"

func (s *server) registerAudit() {
	register(s, operation{
		id: "list-audit", method: http.MethodGet, path: "/v1/audit", tag: "Operations", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "What administrators did and what people were refused, the newest first",
	}, s.listAudit)
}

func (s *server) listAudit(ctx context.Context, in *Paging) (*answer[shape.Page[shape.Audit]], error) {
	return listOf(*in, auditCursor, func(before int64, limit int) ([]store.AuditEntry, error) {
		return s.o.Store.AuditLog(ctx, before, limit)
	}, func(e store.AuditEntry) int64 { return e.ID }, auditFrom)
}

func auditFrom(e store.AuditEntry) shape.Audit {
	return shape.Audit{
		ID: formatID(e.ID), ActorID: formatOptionalID(e.ActorID), Action: e.Action, Subject: e.Subject,
		Outcome: e.Outcome, Door: e.Door, CreatedAt: utc(e.CreatedAt),
	}
}
