package operators

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/operations"
)

const findingsCursor = "findings"

type listFindingsInput struct {
	server.Paging
	Workload string    `query:"workload" enum:"delivery,task,download,transaction" doc:"Only findings of this workload"`
	Since    time.Time `query:"since" doc:"Only findings made at or after this time"`
}

func (h *handlers) listFindings(ctx context.Context, in *listFindingsInput) (shape.Page[shape.Finding], error) {
	return server.ListOf(in.Paging, findingsCursor, func(before int64, limit int) ([]operations.Finding, error) {
		return h.Store.Operations.Findings(
			ctx, operations.FindingFilter{Workload: in.Workload, Since: in.Since, Before: before, Limit: limit},
		)
	}, func(f operations.Finding) int64 { return f.ID }, findingFrom)
}

func findingFrom(f operations.Finding) shape.Finding {
	return shape.Finding{
		ID: shape.ID(f.ID), FoundAt: f.FoundAt.UTC(), Workload: f.Workload, EntityID: f.Entity, WorkflowID: f.WorkflowID,
		RunID: shape.Optional(f.RunID), Finding: f.Finding, Done: shape.Optional(f.Done),
		DoneAt: shape.OptionalTime(f.DoneAt),
	}
}
