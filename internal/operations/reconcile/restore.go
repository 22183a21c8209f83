package reconcile

import (
	"context"
	"log/slog"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/service"
	"stagecoach/internal/temporalio"
)

// RestoreStore is what a restore needs from the record.
type RestoreStore interface {
	AfterRestore(ctx context.Context) error
}

// Restore makes the record and Temporal agree after either was restored to an earlier state, or Temporal was lost. No
// service may run meanwhile. The record decides: the workflows of live rows start anew from it, and a workflow without
// a live row is terminated. A delivery that may have been sent since then is never sent again. Idempotent.
type Restore struct {
	Temporal  client.Client
	Store     RestoreStore
	Workloads []service.Workload
	Log       *slog.Logger

	live                map[string]bool // workflows of live rows
	unknown, terminated int
}

func (r *Restore) Run(ctx context.Context) error {
	if err := r.Store.AfterRestore(ctx); err != nil {
		return err
	}

	r.live = map[string]bool{}
	for _, workload := range r.Workloads {
		err := eachPageOf(ctx, workload.Live, 0, func(page []service.LiveRow) error {
			for _, row := range page {
				if err := r.restore(ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}

	for _, workload := range r.Workloads {
		// Those whose rows do not exist, or have ended. A failed transaction that waits for an operator needs no workflow: a
		// retry starts it.
		workflows := open(workload.WorkflowType())
		err := eachWorkflow(ctx, r.Temporal, nil, workflows, func(info *workflowpb.WorkflowExecutionInfo) error {
			if id := info.Execution.WorkflowId; !r.live[id] {
				return r.terminate(ctx, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}

	r.Log.Info(
		"the record and Temporal agree", "live", len(r.live), "unknown_outcomes", r.unknown, "terminated", r.terminated,
	)
	return nil
}

func (r *Restore) restore(ctx context.Context, row service.LiveRow) error {
	id := row.About().WorkflowID
	r.live[id] = true
	unknown, err := row.Restore(ctx)
	if err != nil || !unknown {
		return err
	}
	r.unknown++
	return r.terminate(ctx, id)
}

func (r *Restore) terminate(ctx context.Context, id string) error {
	err := r.Temporal.TerminateWorkflow(ctx, id, "", "the record was restored and does not have it")
	if temporalio.IsNotFound(err) {
		return nil
	}
	if err == nil {
		r.terminated++
	}
	return err
}
