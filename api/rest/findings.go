package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/store"
)

const findingsCursor = "findings"

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

func (s *server) listFindings(ctx context.Context, in *listFindingsInput) (*answer[shape.Page[shape.Finding]], error) {
	return listOf(in.Paging, findingsCursor, func(before int64, limit int) ([]store.Finding, error) {
		return s.o.Store.Findings(
			ctx, store.FindingFilter{Workload: in.Workload, Since: in.Since, Before: before, Limit: limit},
		)
	}, func(f store.Finding) int64 { return f.ID }, findingFrom)
}

func findingFrom(f store.Finding) shape.Finding {
	return shape.Finding{
		ID: formatID(f.ID), FoundAt: utc(f.FoundAt), Workload: f.Workload, EntityID: f.Entity, WorkflowID: f.WorkflowID,
		RunID: optional(f.RunID), Finding: f.Finding, Done: optional(f.Done), DoneAt: optionalUTC(f.DoneAt),
	}
}
