// Command bench measures Stagecoach on this machine. Each figure has a baseline from the same run; the two alternate,
// so that other load on the machine affects both. A missed target is information, not a failure: the exit code is only
// nonzero if a measurement failed.
//
//	go run ./dev/bench [--json] [name…]
//
// Like the worker, the simulators run in their own processes: this program starts itself for them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// figure is a measurement; it may return several rows.
type figure struct {
	name    string
	about   string
	takes   time.Duration
	measure func(ctx context.Context, m *machine) ([]row, error)
}

var figures = []figure{
	{"stream", "a 1 GiB file from the storage to Telegram", 35 * time.Second, measureStream},
	{"memory", "a worker with four 2 GB streams at a time", 15 * time.Second, measureMemory},
	{"small", "many jobs of 1 KiB", 30 * time.Second, measureSmall},
	{"claims", "agents who claim tasks", 45 * time.Second, measureClaims},
	{"deadlines", "1,000 tasks due in the same second", 80 * time.Second, measureDeadlines},
	{"downloads", "a poll of 10,000 downloads", 20 * time.Second, measureDownloads},
	{"sales", "60 customers at once, at the pace of the real chain and Fragment, six times as fast", 45 * time.Second, measureSales},
	{"purchase", "one transfer after the other, from its detection to the Stars", 30 * time.Second, measurePurchase},
	{"streams", "a request of an administrator beside 1,000 followers of the events of one API", 35 * time.Second, measureStreams},
	{"again", "all of dev, killed and started again on what is left", 20 * time.Second, measureAgain},
}

// onRequest is only measured by name: filling its record takes minutes, and 10 GB of disk.
var onRequest = []figure{
	{"scale", "status and lists over ten million events (" + scaleVariable + ": another number)", 10 * time.Minute, measureScale},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, progress io.Writer) int {
	if len(args) > 1 && args[0] == childCommand {
		return report(progress, beChild(ctx, args[1], args[2:], os.Stdin, out))
	}

	asJSON := slices.Contains(args, "--json")
	names := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--json" })
	chosen, err := choose(names)
	if err != nil {
		return report(progress, err)
	}

	m, err := newMachine(ctx, progress)
	if err != nil {
		return report(progress, errors.Join(err, m.close()))
	}

	announce(progress, chosen)
	rows, err := measure(ctx, m, chosen, progress)
	err = errors.Join(err, m.close())
	if asJSON {
		err = errors.Join(err, writeJSON(out, rows))
	} else {
		err = errors.Join(err, writeTable(out, rows))
	}

	return report(progress, err)
}

// choose returns the figures with these names; without names, all that are not on request.
func choose(names []string) ([]figure, error) {
	if len(names) == 0 {
		return figures, nil
	}

	var chosen []figure
	known := slices.Concat(figures, onRequest)
	for _, name := range names {
		i := slices.IndexFunc(known, func(f figure) bool { return f.name == name })
		if i < 0 {
			var usage strings.Builder
			for _, f := range known {
				fmt.Fprintf(&usage, "\n  %-12s  %s", f.name, f.about)
			}
			return nil, fmt.Errorf("there is no figure %q; there are%s", name, usage.String())
		}
		chosen = append(chosen, known[i])
	}

	return chosen, nil
}

// announce says what will be measured, and how long that takes on a machine with two cores.
func announce(to io.Writer, chosen []figure) {
	var names []string
	var all time.Duration
	for _, f := range chosen {
		names = append(names, f.name)
		all += f.takes
	}
	fmt.Fprintf(to, "%s: some %.0f minutes\n", strings.Join(names, ", "), math.Ceil(all.Minutes()))
}

// measure takes one measurement after the other; a failure does not stop the others.
func measure(ctx context.Context, m *machine, chosen []figure, progress io.Writer) (rows []row, failures error) {
	for _, f := range chosen {
		fmt.Fprintf(progress, "%s: %s …", f.name, f.about)
		began := time.Now()
		got, err := f.measure(ctx, m)
		fmt.Fprintf(progress, " %.0f s\n", time.Since(began).Seconds())
		rows = append(rows, got...)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("%s: %w", f.name, err))
		}

		if ctx.Err() != nil {
			break
		}
	}

	return rows, failures
}

func report(to io.Writer, err error) (code int) {
	if err == nil {
		return 0
	}
	fmt.Fprintln(to, err)
	return 1
}
