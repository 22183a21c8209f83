package reconcile_test

import (
	"context"
	"log/slog"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store"
)

// hungTemporal is a Temporal whose first answer never comes.
type hungTemporal struct {
	client.Client
	*testtemporal.Hang
}

func (h hungTemporal) ListWorkflow(
	ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, h.Call(ctx)
}

// TestHungReconciler lets the reconciler wait for an answer that never comes.
func TestHungReconciler(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), testdb.URL(t), testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	h := testtemporal.NewHang()
	r := &reconcile.Reconciler{
		Temporal: hungTemporal{Hang: h}, Store: s.Operations, Log: slog.New(slog.DiscardHandler),
		Workloads: []service.Workload{(&tasks.Service{Store: s}).Workload()},
	}
	h.WantTakeover(t, func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, reconcile.Sweep{})
		return err
	})
}
