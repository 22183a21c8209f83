package service

import (
	"context"
	"time"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Workload is what the operations need of one workload: its live rows, and how to continue or end each of them.
type Workload interface {
	// Name is one of lifecycle.Workloads. It is the prefix of the workflow ids.
	Name() string
	// WorkflowType is the type of the workflow that drives a row.
	WorkflowType() string
	// Prepare maintains what all rows of the workload need, such as their watcher. Every sweep begins with it.
	Prepare(ctx context.Context) error
	// Live returns up to limit live rows that were created at least age ago, with ids above after, ascending.
	Live(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error)
	// Unstarted returns those of Live whose workflow was never started. A partial index serves it.
	Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error)
	// LiveOf returns the live rows of these entities that were created at least age ago.
	LiveOf(ctx context.Context, age time.Duration, entities []string) ([]LiveRow, error)
	// Driven returns the rows whose workflows have these keys: workflow ids without the workload's name.
	Driven(ctx context.Context, keys []string) (core.DrivenRows, error)
	// Release ends the work of a user who was forgotten, or returns it to others.
	Release(ctx context.Context, user account.User) error
}

// LiveRow is one row that a workflow should drive.
type LiveRow interface {
	About() Row
	// StillLive reads the row again and reports whether it is live.
	StillLive(ctx context.Context) (bool, error)
	// Refresh makes the running workflow read the record again.
	Refresh(ctx context.Context) error
	// Start starts the workflow. A repeated call changes nothing.
	Start(ctx context.Context) error
	// Restart starts the workflow from the record, whatever the state of the workflow before.
	Restart(ctx context.Context) error
	// End ends the row after its workflow was lost. restarted reports that its workflow was restarted instead.
	End(ctx context.Context, loss Loss) (restarted bool, err error)
	// Restore continues the row after the record or Temporal was set back. unknown reports that the row has ended with
	// an unknown outcome, and that no workflow drives it any more.
	Restore(ctx context.Context) (unknown bool, err error)
}

// Row is what the operations know of a live row.
type Row struct {
	ID           int64  // rows of one workload are read in the order of ids
	Entity       string // as findings name it
	WorkflowID   string
	State        string
	NeverStarted bool // its workflow
	Held         bool // by a worker with a recent heartbeat, which may be about to write
	Resumes      bool // continues from the record when Temporal does not know its workflow any more
	Replaceable  bool // a new workflow may replace its lost one and continue from the record
	Fleeting     bool // its workflow does not get each state: a state that it shows may be outdated without a fault
}

// Loss is how the workflow of a live row was lost.
type Loss struct {
	Finding   string // one of operations.FindingKinds
	Completed bool   // the workflow has completed
}

// always is a live row that counts as live since it was listed.
type always struct{}

func (always) StillLive(context.Context) (bool, error) { return true, nil }

// Services has the service of each workload.
type Services struct {
	Deliveries   *Deliveries
	Tasks        *Tasks
	Downloads    *Downloads
	Transactions *Transactions
}

// Source creates each service from the configuration.
type Source interface {
	Deliveries() *Deliveries
	Tasks() *Tasks
	Downloads() *Downloads
	Transactions() *Transactions
}

// From creates all services.
func From(s Source) Services {
	services := Services{
		Deliveries: s.Deliveries(), Tasks: s.Tasks(), Downloads: s.Downloads(), Transactions: s.Transactions(),
	}
	services.Downloads.Deliveries = services.Deliveries
	return services
}

// WithPatience returns services that wait that long for a requested end.
func (s Services) WithPatience(patience time.Duration) Services {
	deliveries, downloads := *s.Deliveries, *s.Downloads
	deliveries.CancelPatience, downloads.CancelPatience = patience, patience
	s.Deliveries, s.Downloads = &deliveries, &downloads
	return s
}

// Workloads lists what the operations loop over, in the order of lifecycle.Workloads.
func (s Services) Workloads() []Workload {
	return []Workload{s.Deliveries.Workload(), s.Tasks.Workload(), s.Downloads.Workload(), s.Transactions.Workload()}
}

// rowsOf converts a page into live rows.
func rowsOf[E any, R LiveRow](page []E, err error, row func(E) R) ([]LiveRow, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]LiveRow, 0, len(page))
	for _, one := range page {
		rows = append(rows, row(one))
	}
	return rows, nil
}

// releasePage is how many of a user's live rows are read at a time.
const releasePage = 100

// eachOfUser reads pages of a user's live rows, the newest first, and calls do for each.
func eachOfUser[E any](page func(before int64, limit int) ([]E, error), do func(E) (id int64, err error)) error {
	for before := int64(0); ; {
		rows, err := page(before, releasePage)
		if err != nil {
			return err
		}

		for _, row := range rows {
			if before, err = do(row); err != nil {
				return err
			}
		}

		if len(rows) < releasePage {
			return nil
		}
	}
}
