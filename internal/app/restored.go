package app

import (
	"context"
	"errors"
	"log/slog"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// Restored makes the record and Temporal fit for each other after either was set back to an older moment, or Temporal was lost. No
// service may run meanwhile. The record says what there is: workflows of what it does not have are terminated, those of tasks,
// downloads and transactions start anew from it. A delivery that may have been sent since then is never sent again. Twice does no harm.
func Restored(ctx context.Context, c config.Config, log *slog.Logger) error {
	app, err := Connect(ctx, c, log, "starter", (*codec.Codec).Apply)
	if err != nil {
		return err
	}
	defer app.Close()
	if err := app.Store.AfterRestore(ctx); err != nil {
		return err
	}
	r := &restored{Connections: app, known: map[string]bool{}}
	for _, step := range []func(context.Context) error{r.deliveries, r.tasks, r.downloads, r.transactions, r.strays} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	log.Info("the record and Temporal fit for each other", "live", len(r.known), "unknown_outcomes", r.unknown, "terminated", r.terminated)
	return nil
}

type restored struct {
	*Connections
	known               map[string]bool // workflows of live rows
	unknown, terminated int
}

const restorePage = 1000

// all goes through live rows of all ages.
func all[E any](page func(after int64) ([]E, error), settle func(E) (int64, error)) error {
	for after := int64(0); ; {
		rows, err := page(after)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if after, err = settle(row); err != nil {
				return err
			}
		}
	}
}

// deliveries ends those whose fate nobody knows any more. How one ended whose workflow has ended is the reconciler's.
func (r *restored) deliveries(ctx context.Context) error {
	deliveries := r.Deliveries()
	return all(func(after int64) ([]store.LiveJob, error) {
		return r.Store.LiveJobs(ctx, 0, after, restorePage)
	}, func(job store.LiveJob) (int64, error) {
		id := job.WorkflowID()
		r.known[id] = true
		about, err := r.Temporal.DescribeWorkflowExecution(ctx, id, "")
		_, gone := errors.AsType[*serviceerror.NotFound](err)
		if err != nil && !gone || !gone && !maySend(about) {
			return job.ID, err
		}
		r.unknown++
		if _, err := deliveries.Finish(ctx, lifecycle.DeliveryEnd{JobID: job.ID, Action: lifecycle.DeliveryActionFail, Reason: fault.OutcomeUnknown}); err != nil || gone {
			return job.ID, err
		}
		return job.ID, r.terminate(ctx, id)
	})
}

// maySend says whether a running delivery was ever in a worker's hands.
func maySend(about *workflowservice.DescribeWorkflowExecutionResponse) bool {
	for _, ride := range about.PendingActivities {
		if ride.Attempt > 1 || ride.LastStartedTime != nil || ride.State != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			return true
		}
	}
	return false
}

func (r *restored) tasks(ctx context.Context) error {
	tasks := r.Connections.Tasks()
	return all(func(after int64) ([]store.LiveTask, error) {
		return r.Store.LiveTasks(ctx, 0, after, restorePage)
	}, func(live store.LiveTask) (int64, error) {
		r.known[live.WorkflowID()] = true
		t, err := r.Store.TaskByID(ctx, 0, live.ID)
		if err == nil {
			err = tasks.Restart(ctx, t)
		}
		return live.ID, err
	})
}

func (r *restored) downloads(ctx context.Context) error {
	downloads := r.Connections.Downloads()
	return all(func(after int64) ([]store.Download, error) {
		return r.Store.LiveDownloads(ctx, 0, after, restorePage)
	}, func(job store.Download) (int64, error) {
		r.known[job.WorkflowID()] = true
		return job.ID, downloads.Restart(ctx, job)
	})
}

func (r *restored) transactions(ctx context.Context) error {
	transactions := r.Connections.Transactions()
	return all(func(after int64) ([]store.Transaction, error) {
		return r.Store.LiveTransactions(ctx, 0, after, restorePage)
	}, func(t store.Transaction) (int64, error) {
		r.known[t.WorkflowID()] = true
		return t.ID, transactions.Restart(ctx, t.Hash)
	})
}

// strays terminates what runs for rows that do not exist, or have ended. A failed transaction that waits for an operator needs
// no workflow: a retry starts it.
func (r *restored) strays(ctx context.Context) error {
	for _, name := range []string{lifecycle.DeliveryType, lifecycle.TaskType, lifecycle.DownloadType, lifecycle.TransactionType} {
		request := &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: r.Namespace, PageSize: restorePage, Query: `WorkflowType = "` + name + `" AND ExecutionStatus = "Running"`,
		}
		for {
			page, err := r.Temporal.ListWorkflow(ctx, request)
			if err != nil {
				return err
			}
			for _, execution := range page.Executions {
				if id := execution.Execution.WorkflowId; !r.known[id] {
					if err := r.terminate(ctx, id); err != nil {
						return err
					}
				}
			}
			if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
				break
			}
		}
	}
	return nil
}

func (r *restored) terminate(ctx context.Context, id string) error {
	err := r.Temporal.TerminateWorkflow(ctx, id, "", "the record was restored and does not have it")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil
	}
	r.terminated++
	return err
}
