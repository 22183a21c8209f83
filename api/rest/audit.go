package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/store"
)

const auditCursor = "audit"

type auditBody struct {
	ID        string    `json:"id" example:"5"`
	ActorID   *string   `json:"actor_id" example:"3" doc:"The user who tried; null for the system"`
	Action    string    `json:"action" example:"change-user" doc:"The id of an operation, or a command of the bot"`
	Subject   string    `json:"subject" example:"user/7" doc:"What it was about, where that is one thing"`
	Outcome   string    `json:"outcome" enum:"done,refused"`
	Door      string    `json:"door" enum:"bot,http,cli,system"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

func (s *server) registerAudit() {
	register(s, operation{
		id: "list-audit", method: http.MethodGet, path: "/v1/audit", tag: "Operations", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "What administrators did and what people were refused, the newest first",
	}, s.listAudit)
}

func (s *server) listAudit(ctx context.Context, in *Paging) (*answer[Page[auditBody]], error) {
	return listOf(*in, auditCursor, func(before int64, limit int) ([]store.AuditEntry, error) {
		return s.o.Store.AuditLog(ctx, before, limit)
	}, func(e store.AuditEntry) int64 { return e.ID }, auditFrom)
}

func auditFrom(e store.AuditEntry) auditBody {
	return auditBody{
		ID: formatID(e.ID), ActorID: formatOptionalID(e.ActorID), Action: e.Action, Subject: e.Subject,
		Outcome: e.Outcome, Door: e.Door, CreatedAt: utc(e.CreatedAt),
	}
}
