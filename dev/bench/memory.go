package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
)

const (
	memoryStreams = 4
	memorySize    = 2_000_000_000
)

// measureMemory reads a worker's memory while it streams several large files at a time.
func measureMemory(ctx context.Context, m *machine) (rows []row, err error) {
	const mb = 1e6
	options := rigOptions{telegram: telegramsim.Options{DiscardFiles: true}, yandex: yandexsim.Options{SkipHashes: true}}
	err = m.withRig(ctx, options, func(r *rig) error {
		file, sum, err := r.sparseFile(ctx, memorySize)
		if err != nil {
			return err
		}
		if err := r.warmUp(ctx); err != nil { // a worker that has never worked uses less
			return err
		}

		idle, err := r.worker.memory("VmRSS")
		if err != nil {
			return err
		}

		busy, stop := r.worker.watchMemory()
		var streams errgroup.Group
		for range memoryStreams {
			streams.Go(func() error {
				user, err := r.user(ctx)
				if err != nil {
					return err
				}
				if _, err := r.deliver(ctx, user, file); err != nil {
					return err
				}
				return r.checkChat(ctx, *user.TelegramID, 1, sum)
			})
		}

		err = streams.Wait()
		stop()
		if err != nil {
			return err
		}

		most, err := r.worker.memory("VmHWM")
		rows = []row{
			measured(
				"worker memory, 4 × 2 GB at a time, VmHWM", "MB", most/mb,
			).against("the same worker idle", idle/mb).atMost(64),
			measured(
				"worker memory, 4 × 2 GB at a time, VmRSS", "MB", busy()/mb,
			).against("the same worker idle", idle/mb).atMost(64),
		}

		return err
	})

	return rows, err
}

// watchMemory reads VmRSS ten times a second until stop; then most returns the highest value, in bytes.
func (p *process) watchMemory() (most func() float64, stop func()) {
	var highest float64
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		for {
			if now, err := p.memory("VmRSS"); err == nil {
				highest = max(highest, now)
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()

	return func() float64 { return highest }, func() { close(done); <-finished }
}
