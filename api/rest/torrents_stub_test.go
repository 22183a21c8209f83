package rest_test

import (
	"context"
	"errors"
	"sync"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/download"
)

// torrentsStub is a Temporal whose workflows of downloads remove a torrent at once, or as they are told.
type torrentsStub struct {
	*temporalStub
	store *store.Store

	state sync.Mutex
	slow  bool       // nothing comes of a cancel
	fails fault.Code // why no torrent can be removed now
}

func (s *torrentsStub) set(slow bool, fails fault.Code) {
	s.state.Lock()
	defer s.state.Unlock()
	s.slow, s.fails = slow, fails
}

func (s *torrentsStub) SignalWorkflow(ctx context.Context, _, _, signal string, job any) error {
	if s.isDown() {
		return errors.New("secret: no route")
	}

	s.state.Lock()
	defer s.state.Unlock()

	switch {
	case signal == lifecycle.DownloadObservedSignal:
		return nil
	case signal != lifecycle.CancelSignal:
		return errors.New("an unknown signal")
	case s.slow:
		return nil
	case s.fails != "":
		return s.store.Downloads.NoteCancelError(ctx, job.(int64), string(s.fails))
	}

	_, err := s.store.Downloads.Change(ctx, job.(int64), func(walk *download.DownloadWalk) error {
		return walk.Take(download.DownloadStep{
			Action: lifecycle.DownloadActionCancel, Actor: walk.Row.CancelRequestedBy, Comment: string(fault.CancelledByUser),
		})
	})

	return err
}
