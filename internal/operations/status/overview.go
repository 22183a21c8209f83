package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

const (
	lastFindings  = 5
	processSilent = time.Minute // a process without a heartbeat for longer counts as gone
)

// Overview is the part of a status that covers all workloads. Times are seconds.
type Overview struct {
	PaymentQueue int64 // payments that hold the wallet or wait for it
	NeedsReview  int64 // transactions; up to 10,000, like the findings
	Wallet       transaction.WalletState

	Queues          []Queue
	TemporalAnswers bool // false: queues and pollers are unknown
	Workers         []Worker
	Outside         []Outside
	Errors          []operations.WorkloadErrorCount // of all workloads, in the last 24 hours
	Alerts          []notice.OpenAlert
	Stops           []transaction.Switch // what currently stops payments
	Findings        []operations.Finding // the last ones
	OpenFindings    int64                // not yet repaired
	RecentFindings  int64                // of the last minutes
}

// Worker is a process of the worker or the API.
type Worker struct {
	Identity  string
	Service   string // empty: only Temporal knows it
	Version   string
	Build     string // of a worker deployment; empty: none
	LastHeard float64
	InFlight  *int // activities; nil: unknown
	Queues    []string
}

// Outside is the outcome of the last calls to an external system.
type Outside struct {
	Name       string
	Answers    bool     // the last call succeeded
	SuccessAge *float64 // nil: no call has succeeded yet
	FailureAge *float64 // nil: no call has failed yet
	Error      string   // a fault code: of the last failure
	FailingFor *float64 // nil: it is not failing
}

// watched fills in incidents, findings, external systems and processes.
func (r *Reporter) watched(ctx context.Context, s *Status) error {
	seen, err := r.o.Store.Operations.Watched(ctx, processSilent, lastFindings)
	if err != nil {
		return err
	}

	s.Alerts, s.Findings = append(seen.Alerts, r.o.Store.Notices.Unwritten()...), seen.Findings
	for _, o := range seen.Outside {
		s.Outside = append(s.Outside, Outside{
			Name: o.Name, Answers: o.FailingSince == nil, SuccessAge: age(o.SucceededAt), FailureAge: age(o.FailedAt),
			Error: o.Error, FailingFor: age(o.FailingSince),
		})
	}

	s.Workers = workersOf(seen.Processes, s.pollers)
	return nil
}

// workersOf merges what the processes report about themselves with what Temporal knows.
func workersOf(processes []operations.Process, pollers []poller) []Worker {
	byIdentity := map[string]Worker{}
	for _, p := range processes {
		byIdentity[p.Identity] = Worker{
			Identity: p.Identity, Service: p.Service, Version: p.Version, LastHeard: *age(&p.HeardAt),
			InFlight: &p.InFlight, Queues: []string{},
		}
	}

	for _, p := range pollers {
		w, known := byIdentity[p.identity]
		if !known {
			w = Worker{Identity: p.identity, LastHeard: p.age}
		}

		w.LastHeard, w.Build = min(w.LastHeard, p.age), p.build
		if !slices.Contains(w.Queues, p.queue) {
			w.Queues = append(w.Queues, p.queue)
			slices.Sort(w.Queues)
		}
		byIdentity[p.identity] = w
	}

	return slices.SortedFunc(maps.Values(byIdentity), func(a, b Worker) int {
		return cmp.Or(strings.Compare(b.Service, a.Service), strings.Compare(a.Identity, b.Identity)) // workers before the API
	})
}

func age(at *time.Time) *float64 {
	if at == nil {
		return nil
	}
	return new(max(0, time.Since(*at).Seconds()))
}
