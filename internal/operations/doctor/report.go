package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// silentFor is how long a process without a heartbeat counts as alive.
const silentFor = 20 * time.Second

// Report is what all processes have found.
type Report struct {
	Request   operations.CheckRequest // the last one
	Processes []Process
	Unserved  []string // task queues that no process serves
}

// Process is a live process with its results.
type Process struct {
	operations.Process
	Answered bool // it has checked since the last request
	Checks   []operations.Check
}

// Works reports whether everything that is configured works.
func (r Report) Works() bool {
	for _, p := range r.Processes {
		if !p.Answered || slices.ContainsFunc(p.Checks, func(c operations.Check) bool { return !c.Good() }) {
			return false
		}
	}
	return len(r.Processes) > 0 && len(r.Unserved) == 0
}

// Store is what a doctor needs of the record.
type Store interface {
	RequestChecks(ctx context.Context) error
	LastCheckRequest(ctx context.Context) (operations.CheckRequest, error)
	ChecksOf(ctx context.Context, identities []string) ([]operations.Check, error)
	Processes(ctx context.Context, age time.Duration) ([]operations.Process, error)
	WalletsInUse(ctx context.Context) ([]transaction.WalletLine, error)
}

// Doctor requests checks from the processes and collects their results.
type Doctor struct {
	Store         Store
	Queues        []string // task queues that some process must serve
	PaymentQueues []string // those among them that each wallet needs, under its name
}

// Ask requests a new check from all processes; they run it within seconds.
func (d *Doctor) Ask(ctx context.Context) (Report, error) {
	if err := d.Store.RequestChecks(ctx); err != nil {
		return Report{}, err
	}
	return d.Report(ctx)
}

// Report returns what the processes have found so far.
func (d *Doctor) Report(ctx context.Context) (report Report, err error) {
	if report.Request, err = d.Store.LastCheckRequest(ctx); err != nil {
		return Report{}, err
	}

	processes, err := d.Store.Processes(ctx, silentFor)
	if err != nil {
		return Report{}, err
	}

	identities := make([]string, len(processes))
	for i, p := range processes {
		identities[i] = p.Identity
	}

	checks, err := d.Store.ChecksOf(ctx, identities)
	if err != nil {
		return Report{}, err
	}

	for _, p := range processes {
		report.Processes = append(report.Processes, examined(p, checks, report.Request))
	}

	report.Unserved, err = d.unserved(ctx, checks)
	return report, err
}

// examined combines a process with its own checks.
func examined(p operations.Process, checks []operations.Check, request operations.CheckRequest) Process {
	own := Process{Process: p, Answered: true}
	for _, c := range checks {
		if c.Identity == p.Identity {
			own.Checks = append(own.Checks, c)
			own.Answered = own.Answered && c.Request >= request.Number
		}
	}
	own.Answered = own.Answered && len(own.Checks) > 0
	return own
}

// unserved lists the task queues that no process serves. Those of payments are needed by each wallet in use.
func (d *Doctor) unserved(ctx context.Context, checks []operations.Check) ([]string, error) {
	wallets, err := d.Store.WalletsInUse(ctx)
	if err != nil {
		return nil, err
	}

	needed := slices.DeleteFunc(slices.Clone(d.Queues), func(queue string) bool { return slices.Contains(d.PaymentQueues, queue) })
	for _, wallet := range wallets {
		for _, queue := range d.PaymentQueues {
			needed = append(needed, lifecycle.QueueOf(queue, wallet.Name))
		}
	}

	spared := map[string]bool{} // they are served
	for _, c := range checks {
		if c.System == Queues {
			for queue := range strings.SplitSeq(c.Detail, separator) {
				spared[queue] = true
			}
		}
	}

	return slices.DeleteFunc(needed, func(queue string) bool { return spared[queue] }), nil
}
