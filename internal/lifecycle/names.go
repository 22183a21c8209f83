package lifecycle

import "time"

// Names of the workloads, in events, findings, alerts and the ids of workflows.
const (
	WorkloadDelivery    = "delivery"
	WorkloadTask        = "task"
	WorkloadDownload    = "download"
	WorkloadTransaction = "transaction"
)

// Workloads lists the names of all workloads.
var Workloads = []string{WorkloadDelivery, WorkloadTask, WorkloadDownload, WorkloadTransaction}

// MainQueue is the task queue of all workflows and of short activities.
const MainQueue = "stagecoach"

// Names that the workflows of more than one workload have.
const (
	StateQuery   = "state"
	CancelSignal = "cancel"
)

// TransactionID is the id of the workflow of the transaction with this hash.
func TransactionID(hash string) string { return "transaction/" + hash }

// StateView is what the state query of every workflow answers.
type StateView struct {
	State    string    `json:"state"`
	Since    time.Time `json:"since"`
	WaitsFor string    `json:"waits_for,omitempty"`
	// DeadlineAt is when the state ends by itself, where it does.
	DeadlineAt *time.Time `json:"deadline_at,omitempty"`
}
