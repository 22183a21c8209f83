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

// UntilAsked gives a context that ends when somebody wants us to stop: by Ctrl-C, SIGTERM, a closed terminal, or by
// stopping the `go run` that started us, which passes no signal on. Asked a second time, the process ends at once.
func UntilAsked(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
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
		// What dev has started ends with us: the kernel sees to that where it can, else the next start does.
		os.Exit(1)
	}()

	return ctx, func() {
		cancel()
		signal.Stop(signals)
	}
}

// goRunEnds is closed when the `go run` that started us, if one did, is gone.
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
