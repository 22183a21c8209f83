// Package run makes the worker: workflows and activities on each queue that the process serves.
package run

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities"
	"stagecoach/internal/app"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"

	"stagecoach/internal/store"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
	"stagecoach/workflows/transaction"
)

// cancelNotice is how soon a running activity hears of a cancel: the most that the SDK holds a heartbeat back.
const cancelNotice = 3 * time.Second

// reconcilerGap is how long nobody reconciles, at most, when an operator has ended the reconciler.
const reconcilerGap = 20 * time.Second

// process is one worker.
type process struct{ *app.Connections }

// Run runs workflows and activities until ctx ends.
func Run(ctx context.Context, c config.Config, log *slog.Logger) error {
	connections, err := app.Connect(ctx, c, log, "worker", (*codec.Codec).ApplyToWorkers)
	if err != nil {
		return err
	}

	p := process{connections}
	defer p.Close()
	defer p.KeepAlive(ctx)()

	parts, err := p.parts()
	if err != nil {
		return err
	}

	if parts.Monitor != nil { // the limits may be others than before
		if err := p.Store.RetryDeferred(ctx); err != nil {
			return err
		}
	}

	stop, err := startAll(p.workers(parts)...)
	if err != nil {
		return err
	}
	defer stop()

	if serves(c, lifecycle.MainQueue) {
		if err := p.startSingletons(ctx); err != nil {
			return err
		}
	}

	if parts.Monitor != nil && serves(c, lifecycle.PaymentQueue) {
		if err := p.keepMonitor(ctx, parts); err != nil {
			return err
		}
	}

	defer p.Examine(ctx, "worker", p.workerChecks(parts.Main))()
	if c.Worker.MetricsAddr != "" {
		stop := app.ServeMetrics(c.Worker.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}

	log.Info("worker runs", "queues", c.Worker.Queues, "key", parts.Monitor != nil, "parallel", c.Delivery.Parallel)
	<-ctx.Done()
	log.Info("worker stops", "within", c.Worker.StopTimeout.String())
	return nil
}

// parts are what the workers of a process run.
type parts struct {
	activities.Main
	delivery     *activities.DeliveryActivities // nil: this process does not serve the queue of deliveries
	reconciler   *reconcile.Reconciler
	cleanup      *cleanup.OldRows
	transactions *service.Transactions
}

// parts makes what the workers run.
func (a process) parts() (p parts, err error) {
	if serves(a.Config, lifecycle.DeliveryQueue) {
		if p.delivery, err = a.deliveryActivities(); err != nil {
			return p, err
		}
	}

	p.transactions = a.Transactions()
	if p.Main, err = a.shop(p.transactions); err != nil {
		return p, err
	}

	if p.Monitor != nil {
		p.transactions.Monitored = p.Monitor.Wallet.Raw()
	}

	deliveries := a.Deliveries()
	p.Records = &activities.Records{Store: a.Store, Deliveries: deliveries}
	p.Tasks = &activities.Tasks{Store: a.Store, Temporal: a.Temporal, Metrics: a.Metrics}
	p.Downloads, p.DownloadSync = a.downloadActivities()

	p.reconciler = a.reconciler(service.Workloads(deliveries, a.Tasks(), a.Connections.Downloads(), p.transactions))
	p.cleanup = &cleanup.OldRows{Store: a.Store, Log: a.Log}
	return p, nil
}

// keepMonitor makes sure that the wallet's monitor runs, now and for as long as ctx.
func (a process) keepMonitor(ctx context.Context, p parts) error {
	start := func() error { return p.transactions.StartMonitor(ctx, p.transactions.Monitored) }
	if err := start(); err != nil {
		return err
	}
	go keep(ctx, "the wallet's monitor", start, a.Log)
	return nil
}

// workers makes a worker for each queue that this process serves. Without the wallet's key it serves none where
// payments wait.
func (a process) workers(p parts) (all []worker.Worker) {
	each := []interceptor.WorkerInterceptor{a.Liveness.Worker()}
	add := func(queue string, o worker.Options) worker.Worker {
		w := worker.New(a.Temporal, queue, o)
		all = append(all, w)
		return w
	}

	pays := p.Monitor != nil && serves(a.Config, lifecycle.PaymentQueue)
	switch {
	case serves(a.Config, lifecycle.MainQueue):
		main := add(lifecycle.MainQueue, mainOptions(a.Config, each))
		workflows.Register(main, workflowSettings(a.Config))
		activities.RegisterMain(main, p.Main)
		main.RegisterActivity(p.reconciler)
		main.RegisterActivity(p.cleanup)
	case pays: // for this release: payments that 0.1.0 has left on the main queue
		activities.RegisterLeftPayments(add(lifecycle.MainQueue, leftPaymentsOptions(a.Config, each)), p.Payments, p.Monitor)
	}

	if serves(a.Config, lifecycle.DeliveryQueue) {
		activities.RegisterDelivery(add(lifecycle.DeliveryQueue, streamingOptions(a.Config, each)), p.delivery)
	}

	if serves(a.Config, lifecycle.TorrentQueue) {
		activities.RegisterFiles(add(lifecycle.TorrentQueue, filesOptions(a.Config, each)), p.Downloads)
	}

	if p.Monitor != nil && serves(a.Config, lifecycle.QuoteQueue) {
		activities.RegisterQuotes(add(lifecycle.QuoteQueue, quotesOptions(a.Config, each)), p.Payments)
	}

	if pays {
		activities.RegisterPayments(add(lifecycle.PaymentQueue, paymentsOptions(a.Config, each)), p.Payments, p.Monitor)
	}
	return all
}

// startSingletons starts the workflows of which there is one, but for the wallet's monitor.
func (a process) startSingletons(ctx context.Context) error {
	reconcile := func() error {
		return temporalio.StartSingleton(ctx, a.Temporal, reconciler.WorkflowType, reconciler.WorkflowID, reconciler.Title)
	}
	if err := reconcile(); err != nil {
		return err
	}

	go keep(ctx, "the reconciler", reconcile, a.Log)

	if err := retention.EnsureSchedule(ctx, a.Temporal, store.Retention(a.Config.Retention)); err != nil {
		return err
	}
	return a.Connections.Downloads().StartSync(ctx)
}

func workflowSettings(c config.Config) workflows.Settings {
	return workflows.Settings{
		Delivery: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
			HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
		},
		Download: download.Settings{Grace: c.Download.Grace},
		Transaction: transaction.Settings{
			Attempts: c.Transactions.Attempts, RetryInterval: c.Transactions.RetryInterval,
			RebroadcastEvery: c.Transactions.RebroadcastEvery,
			ConfirmPatience:  c.Transactions.ConfirmPatience, StuckAfter: c.Transactions.StuckAfter,
		},
	}
}

func (a process) deliveryActivities() (*activities.DeliveryActivities, error) {
	c := a.Config
	courier := &activities.DeliveryActivities{
		Store: a.Store, Storage: a.Yandex, Telegram: a.Telegram, Temporal: a.Temporal,
		Metrics: a.Metrics, Log: a.Log,
		Settings: activities.DeliverySettings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: c.Delivery.SendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: c.Delivery.ShortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
			CacheChat:     c.Telegram.CacheChat,
			HandOverAfter: handOverAfter(c.Worker.StopTimeout),
		},
	}

	if c.Delivery.Mode == "spool" {
		spool, err := activities.NewSpool(
			c.Delivery.SpoolDir, c.Telegram.SharedDir, c.Delivery.SpoolMaxBytes, c.Delivery.JobTimeout, a.Metrics.SpoolUsage,
		)
		if err != nil {
			return nil, err
		}
		courier.Spool = spool
	}

	return courier, nil
}

// keep starts a workflow again and again that looks after others: nobody else would notice that an operator ended it.
func keep(ctx context.Context, what string, start func() error, log *slog.Logger) {
	ticker := time.NewTicker(reconcilerGap)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := start(); err != nil && ctx.Err() == nil {
				log.Warn("a workflow cannot be started", "what", what, "error", err) // an outage: it is tried again
			}
		}
	}
}
