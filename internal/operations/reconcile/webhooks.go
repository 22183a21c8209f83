package reconcile

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/time/rate"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/webhook"
	"stagecoach/internal/temporalio"
)

// WebhookStore is what Webhooks need from the record.
type WebhookStore interface {
	Active(ctx context.Context, ids []int64) ([]int64, error)
	Live(ctx context.Context, age time.Duration, after int64, limit int) ([]webhook.Live, error)
}

// Webhooks makes sure that each active webhook has a running workflow.
type Webhooks struct {
	Temporal client.Client
	Store    WebhookStore
	Log      *slog.Logger
	Lists    *rate.Limiter // as a Reconciler's
	// Signal signals a webhook's workflow, starting it if it is not running.
	Signal func(ctx context.Context, id int64, signal string) error
}

// reopen starts the workflows that have closed although their webhooks are active, such as those terminated by an
// operator. A reset also closes a run: the next one may have missed a signal.
func (w *Webhooks) reopen(ctx context.Context, closed []*workflowpb.WorkflowExecutionInfo) error {
	var ids []int64
	for _, info := range closed {
		number, ours := strings.CutPrefix(info.Execution.WorkflowId, lifecycle.WebhookEvents+"/")
		if id, err := strconv.ParseInt(number, 10, 64); ours && err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}

	active, err := w.Store.Active(ctx, ids)
	if err != nil {
		return err
	}

	for _, id := range active {
		w.Log.Info("signalling a webhook whose workflow has closed", "webhook", id)
		if err := w.Signal(ctx, id, lifecycle.WebhookWake); err != nil {
			return err
		}
		temporalio.Progressed(ctx)
	}
	return nil
}

// Compare compares all active webhooks with all running workflows. It starts the missing workflows of active webhooks,
// and wakes those that neither wait nor send. A workflow without an active webhook is signalled, so that it notices and
// ends.
func (w *Webhooks) Compare(ctx context.Context) error {
	idle := map[string]bool{} // running workflows without an active webhook
	err := eachWorkflow(ctx, w.Temporal, w.Lists, open(lifecycle.WebhookType), func(info *workflowpb.WorkflowExecutionInfo) error {
		idle[info.Execution.WorkflowId] = true
		return nil
	})
	if err != nil {
		return err
	}

	for after := int64(0); ; {
		page, err := w.Store.Live(ctx, settled, after, pageLimit)
		if err != nil {
			return err
		}

		for _, live := range page {
			after = live.ID
			if id := lifecycle.WebhookID(live.ID); !idle[id] || live.Stuck {
				w.Log.Info("signalling a webhook again", "webhook", live.ID, "runs", idle[id])
				if err := w.Signal(ctx, live.ID, lifecycle.WebhookWake); err != nil {
					return err
				}
			}
			delete(idle, lifecycle.WebhookID(live.ID))
		}

		temporalio.Progressed(ctx)
		if len(page) < pageLimit {
			break
		}
	}

	for id := range idle {
		if err := temporalio.SignalRunning(ctx, w.Temporal, id, lifecycle.WebhookAct, nil); err != nil {
			return err
		}
		temporalio.Progressed(ctx)
	}
	return nil
}
