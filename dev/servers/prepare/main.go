// Command prepare makes sure that a Temporal server can be started on this machine. If there is none it builds one,
// once, which takes a few minutes. Tests do not wait for that, so `make test` calls this first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"stagecoach/dev/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := servers.FindTemporal(ctx, func(step string) { fmt.Println("  " + step) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
	fmt.Println("  Temporal server: " + program)
}
