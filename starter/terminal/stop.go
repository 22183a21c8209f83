package terminal

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// UntilAsked returns a context that is canceled when the process is asked to stop: by Ctrl-C, SIGTERM, a closed
// terminal, or the end of the `go run` that started it, which does not forward signals. A second request exits at once.
func UntilAsked(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}

	orphaned := goRunEnds(ctx)
	go func() {
		select {
		case <-signals:
		case <-orphaned:
		case <-ctx.Done():
			return
		}
		cancel()
		<-signals
		// The kernel ends the processes that go run ./dev started where it can; otherwise the next start does.
		os.Exit(1)
	}()

	return ctx, func() {
		cancel()
		signal.Stop(signals)
	}
}

// goRunEnds returns a channel that is closed when the `go run` that started this process is gone; nil if there was
// none.
func goRunEnds(ctx context.Context) <-chan struct{} {
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return nil
	}

	gone := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		close(gone)
	}()

	return gone
}
