// Package activities touches the world on behalf of workflows: one struct per task, its dependencies as fields; every
// exported method is an activity, registered under its bare name.
package activities

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterDelivery adds the streaming activity to the worker of the delivery queue.
func RegisterDelivery(w worker.Registry, courier *DeliveryActivities) { w.RegisterActivity(courier) }

// RegisterQuotes adds what quotes orders to the worker of the queue where they wait for that.
func RegisterQuotes(w worker.Registry, cashier *PaymentActivities) {
	w.RegisterActivityWithOptions(cashier.QuoteOrder, activity.RegisterOptions{Name: "QuoteOrder"})
}

// RegisterFiles adds what handles .torrent files to the worker of their queue.
func RegisterFiles(w worker.Registry, downloads *Downloads) {
	w.RegisterActivityWithOptions(downloads.FetchTorrent, activity.RegisterOptions{Name: "FetchTorrent"})
	w.RegisterActivityWithOptions(downloads.AddTorrent, activity.RegisterOptions{Name: "AddTorrent"})
}

// RegisterPayments adds what needs the wallet's key or the shop's session to a worker of the queue where that waits.
func RegisterPayments(w worker.ActivityRegistry, cashier *PaymentActivities, monitor *TonMonitor) {
	w.RegisterActivity(cashier)
	w.RegisterActivity(monitor)
}

// Main are the activities of the main queue; without a Monitor there is no wallet here, and its work is given back.
type Main struct {
	Records      *Records
	Tasks        *Tasks
	Downloads    *Downloads
	DownloadSync *DownloadSync
	Transactions *Transactions
	Payments     *PaymentActivities
	Monitor      *TonMonitor
}

// RegisterMain adds the activities of the main queue to its worker.
func RegisterMain(w worker.Registry, m Main) {
	w.RegisterActivity(m.Records)
	w.RegisterActivity(m.Tasks)
	w.RegisterActivity(m.Downloads)
	w.RegisterActivity(m.DownloadSync)
	w.RegisterActivity(m.Transactions)
	w.RegisterActivity(m.Payments)
	if m.Monitor == nil {
		m.Monitor = &TonMonitor{}
	}
	w.RegisterActivity(m.Monitor)
}

// RegisterLeftPayments adds the payments that 0.1.0 has left on the main queue to a worker of a process for payments
// alone. Everything else that it gets from there is for others, which have what it takes: qBittorrent, say.
func RegisterLeftPayments(w worker.ActivityRegistry, cashier *PaymentActivities, monitor *TonMonitor) {
	RegisterPayments(w, cashier, monitor)
	w.RegisterDynamicActivity(LeaveToOthers, activity.DynamicRegisterOptions{})
}
