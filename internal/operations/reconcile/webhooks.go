package reconcile

import (
	"context"
	"log/slog"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/webhook"
	"stagecoach/internal/temporalio"
)

// WebhookStore is what Webhooks need of the record.
type WebhookStore interface {
	UnansweredWebhooks(ctx context.Context, age time.Duration, limit int) ([]int64, error)
	LiveWebhooks(ctx context.Context, age time.Duration, after int64, limit int) ([]webhook.Live, error)
}

// Webhooks makes sure that each active webhook has a running workflow, and that none waits for a signal that was lost.
type Webhooks struct {
	Temporal client.Client
	Store    WebhookStore
	Log      *slog.Logger
	Wake     func(ctx context.Context, id int64) // signals a webhook's workflow, and starts it when it does not run
}

func (w *Webhooks) keep(ctx context.Context) {
	err := w.repeatSignals(ctx)
	if err == nil {
		err = w.restart(ctx)
	}
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("webhooks are not looked after", "error", err) // an outage: the next sweep repeats it
	}
}

// repeatSignals wakes webhooks whose signal was lost.
func (w *Webhooks) repeatSignals(ctx context.Context) error {
	for {
		ids, err := w.Store.UnansweredWebhooks(ctx, settled, pageLimit)
		for _, id := range ids {
			w.Wake(ctx, id)
			temporalio.Progressed(ctx)
		}
		if err != nil || len(ids) < pageLimit {
			return err
		}
	}
}

// restart starts the workflows that active webhooks lack, and wakes those that neither wait nor send. A workflow
// without an active webhook is signalled, so that it sees that and ends.
func (w *Webhooks) restart(ctx context.Context) error {
	idle := map[string]bool{} // running workflows without an active webhook
	err := eachWorkflow(ctx, w.Temporal, open(lifecycle.WebhookType), func(info *workflowpb.WorkflowExecutionInfo) error {
		idle[info.Execution.WorkflowId] = true
		return nil
	})
	if err != nil {
		return err
	}

	for after := int64(0); ; {
		page, err := w.Store.LiveWebhooks(ctx, settled, after, pageLimit)
		if err != nil {
			return err
		}

		for _, live := range page {
			after = live.ID
			if id := lifecycle.WebhookID(live.ID); !idle[id] || live.Stuck {
				w.Log.Info("a webhook is signalled again", "webhook", live.ID, "runs", idle[id])
				w.Wake(ctx, live.ID)
			}
			delete(idle, lifecycle.WebhookID(live.ID))
		}

		temporalio.Progressed(ctx)
		if len(page) < pageLimit {
			break
		}
	}

	for id := range idle {
		if err := temporalio.SignalRunning(ctx, w.Temporal, id, lifecycle.WebhookWake, nil); err != nil {
			return err
		}
		temporalio.Progressed(ctx)
	}
	return nil
}
