package status

import (
	"context"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

const (
	lastFindings  = 5
	processSilent = time.Minute // one that was not heard of for longer is no worker
)

// Overview is what a status tells of all workloads. Times are seconds.
type Overview struct {
	PaymentQueue int64 // payments that wait for the wallet's turn, or have it
	NeedsReview  int64 // transactions; up to 10,000, as the findings
	Wallet       transaction.WalletState

	Queues          []Queue
	TemporalAnswers bool // else queues and pollers are unknown
	Workers         []Worker
	Outside         []Outside
	Errors          []operations.WorkloadErrorCount // of all workloads, in the last 24 hours
	Alerts          []notice.OpenAlert
	Stops           []transaction.Switch // what stops payments now
	Findings        []operations.Finding // the last ones
	OpenFindings    int64                // about which nothing was done yet
	RecentFindings  int64                // of the last minutes
}

// Worker is a process that works, or serves.
type Worker struct {
	Identity  string
	Service   string // empty: Temporal alone knows it
	Version   string
	Build     string // of a worker deployment; empty: none
	LastHeard float64
	Carries   *int // activities; nil: not known
	Queues    []string
}

// Outside is how a system outside answers.
type Outside struct {
	Name       string
	Answers    bool     // the last call succeeded
	SuccessAge *float64 // nil: it never did
	FailureAge *float64 // nil: it never failed
	Error      string   // a fault code: of the last failure
	FailingFor *float64 // nil: it does not
}

func (r *Reporter) overview(ctx context.Context, s *Status, pollers []poller) error {
	var err error
	if s.Wallet, err = r.o.Store.WalletState(ctx); err != nil {
		return err
	}
	if s.Alerts, err = r.o.Store.OpenAlerts(ctx); err != nil {
		return err
	}

	switches, err := r.o.Store.Switches(ctx)
	for _, stop := range switches {
		if stop.On() {
			s.Stops = append(s.Stops, stop)
		}
	}

	if err != nil {
		return err
	}
	if s.Findings, err = r.o.Store.Findings(ctx, operations.FindingFilter{Limit: lastFindings}); err != nil {
		return err
	}

	systems, err := r.o.Store.OutsideSystems(ctx)
	if err != nil {
		return err
	}

	for _, o := range systems {
		s.Outside = append(s.Outside, Outside{
			Name: o.Name, Answers: o.FailingSince == nil, SuccessAge: age(o.SucceededAt), FailureAge: age(o.FailedAt),
			Error: o.Error, FailingFor: age(o.FailingSince),
		})
	}

	processes, err := r.o.Store.Processes(ctx, processSilent)
	s.Workers = workers(processes, pollers)
	return err
}

// workers puts together what the processes say of themselves and what Temporal knows of them.
func workers(processes []operations.Process, pollers []poller) []Worker {
	byIdentity := map[string]*Worker{}
	for _, p := range processes {
		byIdentity[p.Identity] = &Worker{
			Identity: p.Identity, Service: p.Service, Version: p.Version, LastHeard: max(0, time.Since(p.BeatAt).Seconds()),
			Carries: &p.Carries, Queues: []string{},
		}
	}

	for _, p := range pollers {
		w := byIdentity[p.identity]
		if w == nil {
			w = &Worker{Identity: p.identity, LastHeard: p.age}
			byIdentity[p.identity] = w
		}
		w.LastHeard, w.Build = min(w.LastHeard, p.age), p.build
		if !slices.Contains(w.Queues, p.queue) {
			w.Queues = append(w.Queues, p.queue)
		}
	}

	var all []Worker
	for _, w := range byIdentity {
		slices.Sort(w.Queues)
		all = append(all, *w)
	}

	slices.SortFunc(all, func(a, b Worker) int {
		if a.Service != b.Service {
			return strings.Compare(b.Service, a.Service) // workers before the API
		}
		return strings.Compare(a.Identity, b.Identity)
	})

	return all
}

func age(at *time.Time) *float64 {
	if at == nil {
		return nil
	}
	seconds := max(0, time.Since(*at).Seconds())
	return &seconds
}
