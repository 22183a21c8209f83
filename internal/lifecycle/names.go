package lifecycle

import "time"

// Names of the workloads, in events, findings, alerts and the ids of workflows.
const (
	WorkloadDelivery    = "delivery"
	WorkloadTask        = "task"
	WorkloadDownload    = "download"
	WorkloadTransaction = "transaction"
)

// Workload is one entry of the list of workloads.
type Workload struct {
	Name  string
	Table AnyTable
	// Counted is how a status and the metrics name its rows by state: their name, "_in_" and the name of the state.
	Counted string
	Queues  []string // in which its activities wait, beside the main one
	Scope   string   // that a token needs to act on it
	Admins  bool     // the scope is of use to administrators only
}

// Workloads lists all workloads. Every loop over workloads uses this order.
var Workloads = []Workload{
	{Name: WorkloadDelivery, Table: Delivery, Counted: "jobs_in_state", Queues: []string{DeliveryQueue}, Scope: DeliveryScope},
	{Name: WorkloadTask, Table: Task, Counted: "tasks_in_status", Scope: TaskScope},
	{Name: WorkloadDownload, Table: Download, Counted: "downloads_in_status", Queues: []string{TorrentQueue}, Scope: DownloadScope},
	{
		Name: WorkloadTransaction, Table: Transaction, Counted: "transactions_in_status", Queues: PaymentQueues,
		Scope: TransactionScope, Admins: true,
	},
}

// Names lists the names of all workloads.
func Names() (names []string) {
	for _, workload := range Workloads {
		names = append(names, workload.Name)
	}
	return names
}

// Queues lists all task queues, the main one first.
func Queues() []string {
	queues := []string{MainQueue, WebhookQueue}
	for _, workload := range Workloads {
		queues = append(queues, workload.Queues...)
	}
	return queues
}

// FairQueues lists the task queues in which users take turns. Temporal keeps turns within a partition only, so each of
// them has one partition; the other queues have as many as the server gives them.
func FairQueues() []string { return []string{DeliveryQueue, TorrentQueue, PaymentQueue} }

// MainQueue is the task queue of all workflows and of short activities.
const MainQueue = "stagecoach"

// Names that the workflows of more than one workload have.
const (
	StateQuery   = "state"
	CancelSignal = "cancel"
)

// TransactionID is the id of the workflow of the transaction with this hash.
func TransactionID(hash string) string { return "transaction/" + hash }

// StateView is the part of the state query's answer that every workflow has.
type StateView struct {
	State    string    `json:"state"`
	Since    time.Time `json:"since"`
	WaitsFor string    `json:"waits_for,omitempty"`
	// DeadlineAt is when the state ends by itself, where it does.
	DeadlineAt *time.Time `json:"deadline_at,omitempty"`
}
