package rest_test

import (
	"context"
	"errors"
	"sync"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store"
	"stagecoach/internal/temporalio"
)

// torrentsStub is a Temporal whose download workflows remove a torrent at once, or as configured.
type torrentsStub struct {
	*temporalStub
	store *store.Store

	state sync.Mutex
	slow  bool       // a cancel has no effect yet
	fails fault.Code // why no torrent can be removed now
}

func (s *torrentsStub) set(slow bool, fails fault.Code) {
	s.state.Lock()
	defer s.state.Unlock()
	s.slow, s.fails = slow, fails
}

func (s *torrentsStub) SignalWorkflow(_ context.Context, _, _, signal string, _ any) error {
	switch {
	case s.isDown():
		return errors.New("secret: no route")
	case signal != lifecycle.DownloadObservedSignal && signal != lifecycle.CancelSignal:
		return errors.New("an unknown signal")
	}
	return nil
}

func (s *torrentsStub) UpdateWorkflow(
	ctx context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}

	s.state.Lock()
	defer s.state.Unlock()
	in := o.Args[0].(lifecycle.DownloadInput)
	jobs := &downloads.Service{Store: s.store}
	job, err := jobs.Request(ctx, lifecycle.DownloadAsked{
		Action: lifecycle.DownloadAction(o.UpdateName), In: in, RequestID: o.UpdateID,
	})
	switch {
	case err != nil:
		return asked{err: temporalio.Refusal(fault.As(err))}, nil
	case o.UpdateName == string(lifecycle.DownloadActionRetryImport):
	case s.slow:
		return asked{slow: true}, nil
	case s.fails != "":
		job.CancelError = string(s.fails)
		err = s.store.Downloads.NoteCancelError(ctx, in.JobID, job.CancelError)
	default:
		job, err = jobs.Move(ctx, lifecycle.DownloadMove{
			JobID: in.JobID, Action: lifecycle.DownloadActionCancel, Reason: fault.CancelledByUser,
		})
	}
	return asked{err: err, now: lifecycle.DownloadRecord{
		Status: job.State, CancelRequested: job.CancelRequestedAt != nil, CancelError: fault.Code(job.CancelError),
		Attention: fault.Code(job.Attention), ChangedAt: job.UpdatedAt,
	}}, nil
}

// asked is the outcome of an update of a download.
type asked struct {
	client.WorkflowUpdateHandle
	now  lifecycle.DownloadRecord
	err  error
	slow bool
}

func (a asked) Get(ctx context.Context, answer any) error {
	if a.slow {
		<-ctx.Done()
		return ctx.Err()
	}
	*answer.(*lifecycle.DownloadRecord) = a.now
	return a.err
}
