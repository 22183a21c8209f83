package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
)

const (
	updateName  = "a bare update of an empty workflow"
	bareUpdate  = "poke"
	bareEnding  = "end"
	startsAtAll = 50 // workflows that are started at a time
)

// bareEntity is the least that can be updated: nothing happens, until it is told to end.
func bareEntity(ctx workflow.Context) error {
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(workflow.Context, int) (int, error) { return 1, nil })
	if err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, bareEnding).Receive(ctx, nil)
	return nil
}

// bareTimer waits for a moment.
func bareTimer(ctx workflow.Context, due time.Time) error {
	return workflow.Sleep(ctx, due.Sub(workflow.Now(ctx)))
}

// startBare starts workflows of the baseline and gives their ids.
func (r *rig) startBare(ctx context.Context, howMany int, kind any, args ...any) ([]string, error) {
	ids := make([]string, howMany)
	starts, ctx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtAll)
	for i := range ids {
		ids[i] = fmt.Sprintf("bare-%d", r.serial.Add(1))
		starts.Go(func() error {
			_, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: ids[i], TaskQueue: bareQueue}, kind, args...)
			return err
		})
	}
	return ids, starts.Wait()
}

// poke makes one update of a bare entity.
func (r *rig) poke(ctx context.Context, id string) error {
	handle, err := r.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: bareUpdate, Args: []any{1}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}
