package service

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
)

// Workload is what the operations need from a workload: its live rows, and how to continue or end each.
type Workload interface {
	// Name is one of lifecycle.Workloads and the prefix of its workflow ids.
	Name() string
	// WorkflowType is the type of the workflow that drives a row.
	WorkflowType() string
	// Prepare maintains what all rows of the workload need, such as their watcher. Every sweep begins with it.
	Prepare(ctx context.Context) error
	// Live returns up to limit live rows created at least age ago, with ids above after, ascending.
	Live(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error)
	// Unstarted returns the rows of Live whose workflow was never started. Served by a partial index.
	Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error)
	// LiveOf returns the live rows of these entities created at least age ago.
	LiveOf(ctx context.Context, age time.Duration, entities []string) ([]LiveRow, error)
	// Driven returns the rows whose workflows have these keys: workflow ids without the workload's name.
	Driven(ctx context.Context, keys []string) (core.DrivenRows, error)
	// Release ends a forgotten user's work, or returns it to others.
	Release(ctx context.Context, user account.User) error
}

// LiveRow is one row that a workflow should drive.
type LiveRow interface {
	About() Row
	// StillLive rereads the row and reports whether it is live.
	StillLive(ctx context.Context) (bool, error)
	// Refresh makes the running workflow read the record again.
	Refresh(ctx context.Context) error
	// Start starts the workflow. Idempotent.
	Start(ctx context.Context) error
	// Restart starts the workflow anew from the record, whatever the old workflow's state.
	Restart(ctx context.Context) error
	// End ends the row after its workflow was lost. restarted reports that the workflow was restarted instead.
	End(ctx context.Context, loss Loss) (restarted bool, err error)
	// Restore continues the row after the record or Temporal was restored. unknown reports that the row has ended with an
	// unknown outcome and is no longer driven by a workflow.
	Restore(ctx context.Context) (unknown bool, err error)
}

// Row is what the operations know about a live row.
type Row struct {
	ID           int64  // rows of a workload are read in id order
	Entity       string // its name in findings
	WorkflowID   string
	State        string
	NeverStarted bool      // its workflow
	Held         bool      // by a worker with a recent heartbeat, which may be about to write
	Resumes      bool      // continues from the record if Temporal no longer knows its workflow
	Replaceable  bool      // a new workflow may replace its lost one and continue from the record
	Revision     int64     // that its workflow should return to the state query; 0: the answer has none
	Changed      time.Time // when it got this revision
	Fleeting     bool      // its workflow is not notified of every state: an outdated one is not a fault
}

// Loss is how the workflow of a live row was lost.
type Loss struct {
	Finding   string // one of operations.FindingKinds
	Completed bool
}

// Reason returns the recorded reason for ending the row.
func (l Loss) Reason() fault.Code {
	if l.Finding == operations.FindingTerminated {
		return fault.TerminatedByOperator
	}
	return fault.WorkflowLost
}

// Always is a row that is live from its listing on.
type Always struct{}

// StillLive implements LiveRow.
func (Always) StillLive(context.Context) (bool, error) { return true, nil }

// RowsOf converts a page into live rows.
func RowsOf[E any, R LiveRow](page []E, err error, row func(E) R) ([]LiveRow, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]LiveRow, 0, len(page))
	for _, one := range page {
		rows = append(rows, row(one))
	}
	return rows, nil
}

// livePage is how many live rows are read at a time.
const livePage = 100

// EachLive reads pages of live rows, newest first, and calls do for each row.
func EachLive[E any](page func(before int64, limit int) ([]E, error), do func(E) (id int64, err error)) error {
	for before := int64(0); ; {
		rows, err := page(before, livePage)
		if err != nil {
			return err
		}

		for _, row := range rows {
			if before, err = do(row); err != nil {
				return err
			}
		}

		if len(rows) < livePage {
			return nil
		}
	}
}
