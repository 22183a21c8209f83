package run

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities/delivery"
	"stagecoach/activities/download"
	"stagecoach/activities/task"
	"stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/workflows"
)

// parts are what the workers of a process run, and the service that starts transactions.
type parts struct {
	deliveries   *delivery.Activities // nil: this process does not serve the queue of deliveries
	records      *delivery.Records
	tasks        *task.Activities
	downloads    *download.Activities
	downloadSync *download.Sync
	transactions *transaction.Activities
	payments     *transaction.PaymentActivities
	monitor      *transaction.Monitor // nil: this process does not hold the wallet's key
	reconciler   *reconcile.Reconciler
	cleanup      *cleanup.OldRows
	orders       *service.Transactions
}

// parts makes what the workers run.
func (p process) parts() (all parts, err error) {
	if serves(p.Config, lifecycle.DeliveryQueue) {
		if all.deliveries, err = p.deliveryActivities(); err != nil {
			return all, err
		}
	}

	services := service.From(p)
	all.orders = services.Transactions
	if err := p.addTransactions(&all); err != nil {
		return all, err
	}

	all.records = &delivery.Records{Deliveries: services.Deliveries}
	all.tasks = &task.Activities{Store: p.Store, Temporal: p.Temporal, Metrics: p.Metrics.Task()}
	all.downloads, all.downloadSync = p.downloadActivities()
	all.reconciler = p.reconciler(services.Workloads())
	all.cleanup = &cleanup.OldRows{Store: p.Store, Log: p.Log}
	return all, nil
}

// workers makes a worker for each queue that this process serves. Without the wallet's key it serves none where
// payments wait.
func (p process) workers(parts parts) (all []worker.Worker) {
	each := []interceptor.WorkerInterceptor{p.Liveness.Worker()}
	add := func(queue string, o worker.Options) worker.Worker {
		w := worker.New(p.Temporal, queue, o)
		all = append(all, w)
		return w
	}

	pays := parts.monitor != nil && serves(p.Config, lifecycle.PaymentQueue)
	switch {
	case serves(p.Config, lifecycle.MainQueue):
		parts.registerMain(add(lifecycle.MainQueue, mainOptions(p.Config, each)), workflowSettings(p.Config))
	case pays: // for this release: payments that 0.1.0 has left on the main queue
		left := add(lifecycle.MainQueue, leftPaymentsOptions(p.Config, each))
		transaction.RegisterLeftPayments(left, parts.payments, parts.monitor)
	}

	if serves(p.Config, lifecycle.DeliveryQueue) {
		add(lifecycle.DeliveryQueue, streamingOptions(p.Config, each)).RegisterActivity(parts.deliveries)
	}

	if serves(p.Config, lifecycle.TorrentQueue) {
		download.RegisterFiles(add(lifecycle.TorrentQueue, filesOptions(p.Config, each)), parts.downloads)
	}

	if parts.monitor != nil && serves(p.Config, lifecycle.QuoteQueue) {
		transaction.RegisterQuotes(add(lifecycle.QuoteQueue, quotesOptions(p.Config, each)), parts.payments)
	}

	if pays {
		paying := add(lifecycle.PaymentQueue, paymentsOptions(p.Config, each))
		transaction.RegisterPayments(paying, parts.payments, parts.monitor)
	}
	return all
}

// registerMain adds all workflows and the activities of the main queue to its worker. Payments are among them for this
// release: 0.1.0 has left some there.
func (p parts) registerMain(w worker.Worker, settings workflows.Settings) {
	workflows.Register(w, settings)
	transaction.RegisterPayments(w, p.payments, p.monitor)
	for _, activities := range []any{
		p.records, p.tasks, p.downloads, p.downloadSync, p.transactions, p.reconciler, p.cleanup,
	} {
		w.RegisterActivity(activities)
	}
}
