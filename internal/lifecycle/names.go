package lifecycle

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/fault"
)

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
	Type  string // of its workflows
	Table AnyTable
	// Counted is how an overview and the metrics name its rows by state: their name, "_in_" and the name of the state.
	Counted string
	Queues  []string // of its activities, besides the main one
	Scope   string   // that a token needs to act on it
	Admins  bool     // the scope is useful to administrators only
}

// Workloads lists all workloads. Every loop over workloads uses this order.
var Workloads = []Workload{
	{
		Name: WorkloadDelivery, Type: DeliveryType, Table: Delivery, Counted: "jobs_in_state", Queues: []string{DeliveryQueue},
		Scope: DeliveryScope,
	},
	{Name: WorkloadTask, Type: TaskType, Table: Task, Counted: "tasks_in_status", Scope: TaskScope},
	{
		Name: WorkloadDownload, Type: DownloadType, Table: Download, Counted: "downloads_in_status", Queues: []string{TorrentQueue},
		Scope: DownloadScope,
	},
	{
		Name: WorkloadTransaction, Type: TransactionType, Table: Transaction, Counted: "transactions_in_status",
		Queues: PaymentQueues, Scope: TransactionScope, Admins: true,
	},
}

// Names lists the names of all workloads.
func Names() (names []string) {
	for _, workload := range Workloads {
		names = append(names, workload.Name)
	}
	return names
}

// WorkflowsURL is the address, in Temporal's Web UI, of the list of all workloads' workflows, without housekeeping:
// those that meet a condition, or all if it is empty. list is the address of a namespace's workflow list.
func WorkflowsURL(list, condition string) string {
	var types []string
	for _, workload := range Workloads {
		types = append(types, strconv.Quote(workload.Type))
	}

	query := "WorkflowType IN (" + strings.Join(types, ", ") + ")"
	if condition != "" {
		query += " AND " + condition
	}
	return list + "?query=" + url.QueryEscape(query)
}

// Queues lists all task queues, the main one first.
func Queues() []string {
	queues := []string{MainQueue, WebhookQueue}
	for _, workload := range Workloads {
		queues = append(queues, workload.Queues...)
	}
	return queues
}

// FairQueues lists the task queues in which users take turns. Temporal ensures turns only within a partition, so each
// of these has one; the other queues have the server's default.
func FairQueues() []string { return []string{DeliveryQueue, TorrentQueue, PaymentQueue} }

// MainQueue is the task queue of all workflows and of short activities.
const MainQueue = "stagecoach"

// Names shared by the workflows of several workloads.
const (
	StateQuery   = "state"
	CancelSignal = "cancel"
)

// CheckActor checks who sent an update; 0: an operator using the temporal CLI.
func CheckActor(actor int64) error {
	if actor < 0 {
		return fault.Invalid("actor", "actor is the id of a user")
	}
	return nil
}

// TransactionID is the id of the workflow for the transaction with this hash.
func TransactionID(hash string) string { return "transaction/" + hash }

// StateView is the part of the state query's answer common to all workflows.
type StateView struct {
	State    string    `json:"state"`
	Since    time.Time `json:"since"`
	WaitsFor string    `json:"waits_for,omitempty"`
	// DeadlineAt is when the state times out, if it does.
	DeadlineAt *time.Time `json:"deadline_at,omitempty"`
}
