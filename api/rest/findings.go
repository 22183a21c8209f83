package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/store"
)

const findingsCursor = "findings"

type findingBody struct {
	ID         string     `json:"id" example:"5"`
	FoundAt    time.Time  `json:"found_at" example:"2026-03-01T12:00:00Z"`
	Workload   string     `json:"workload" enum:"delivery,task,download,transaction"`
	EntityID   string     `json:"entity_id" example:"17" doc:"The entity's id; of one without a row, what its workflow's id names"`
	WorkflowID string     `json:"workflow_id" example:"task/17"`
	RunID      *string    `json:"run_id" example:"01a1f9fa-abe8-7695-b995-207e39dc6be5" doc:"null when there is no workflow"`
	Finding    string     `json:"finding" enum:"not_started,terminated,too_long,timed_out,ended,missing,reset,stale,no_row,over" doc:"How the record and Temporal differed"`
	Done       *string    `json:"done" example:"started" doc:"What was done about it: started, ended, terminated, refreshed or vanished; null: nothing yet"`
	DoneAt     *time.Time `json:"done_at" example:"2026-03-01T12:00:01Z"`
}

type listFindingsInput struct {
	Paging
	Workload string    `query:"workload" enum:"delivery,task,download,transaction" doc:"Only those of this workload"`
	Since    time.Time `query:"since" doc:"Only those found at or after this time"`
}

func (s *server) registerFindings() {
	register(s, operation{
		id: "list-findings", method: http.MethodGet, path: "/v1/findings", tag: "Operations", access: forAdmins,
		scope:       store.ScopeOperate,
		summary:     "What the reconciler found to differ between the record and Temporal, the newest first",
		description: "One line per incident, however often it was looked at.",
	}, s.listFindings)
}

func (s *server) listFindings(ctx context.Context, in *listFindingsInput) (*answer[Page[findingBody]], error) {
	return listOf(in.Paging, findingsCursor, func(before int64, limit int) ([]store.Finding, error) {
		return s.o.Store.Findings(
			ctx, store.FindingFilter{Workload: in.Workload, Since: in.Since, Before: before, Limit: limit},
		)
	}, func(f store.Finding) int64 { return f.ID }, findingFrom)
}

func findingFrom(f store.Finding) findingBody {
	return findingBody{
		ID: formatID(f.ID), FoundAt: utc(f.FoundAt), Workload: f.Workload, EntityID: f.Entity, WorkflowID: f.WorkflowID,
		RunID: optional(f.RunID), Finding: f.Finding, Done: optional(f.Done), DoneAt: optionalUTC(f.DoneAt),
	}
}
