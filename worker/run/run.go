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
	var courier *activities.Courier
	if serves(c, lifecycle.DeliveryQueue) {
		if courier, err = p.courier(); err != nil {
			return err
		}
	}
	deliveries := p.Deliveries()
	records := &activities.Records{Store: p.Store, Deliveries: deliveries}
	counted := []interceptor.WorkerInterceptor{p.Liveness.Worker()}

	keeper := p.Transactions()
	shop, err := p.shop(keeper)
	if err != nil {
		return err
	}
	if shop.Monitor != nil { // the limits may be others than before
		if err := p.Store.RetryDeferred(ctx); err != nil {
			return err
		}
	}
	shop.Records = records
	shop.Tasks = &activities.Tasks{Store: p.Store, Temporal: p.Temporal, Metrics: p.Metrics}
	shop.Downloads, shop.DownloadSync = p.downloadActivities()
	shop.Reconciler = &activities.Reconciler{
		Temporal: p.Temporal, Records: records, Log: log, StartDelivery: deliveries.Start, ShowDelivery: deliveries.Show, Tasks: p.Tasks(),
		TellDelivery: deliveries.Tell, EndDelivery: deliveries.End, DeliveryHeartbeat: c.Delivery.Heartbeat, Payloads: p.Payloads,
		Downloads: p.Downloads(), EnsureDownloadSync: p.downloadSync(),
		Transactions: keeper, StuckAfter: c.Transactions.StuckAfter, Every: 15 * time.Second,
		OnFinding: func(workload, finding string) { p.Metrics.Findings.WithLabelValues(workload, finding).Inc() },
		OnSweep: func(err error) {
			result := "ok"
			if err != nil {
				result = "failed"
			}
			p.Metrics.Sweeps.WithLabelValues(result).Inc()
		},
		Counts: p.counts(), Media: p.mediaSweep(), Watch: p.Reporter().Watch, SweptSignal: reconciler.SweptSignal,
	}
	for _, workload := range lifecycle.Workloads { // a counter that is not there yet cannot be seen to grow
		for _, finding := range store.FindingKinds {
			p.Metrics.Findings.WithLabelValues(workload, finding)
		}
	}
	shop.Retention = &activities.Retention{Store: p.Store, Log: log}
	if shop.Monitor != nil {
		shop.Reconciler.Wallet = shop.Monitor.Wallet.Raw()
	}
	stop, err := startAll(p.workers(shop, courier, counted)...)
	if err != nil {
		return err
	}
	defer stop()
	if serves(c, lifecycle.MainQueue) {
		if err := p.startSingletons(ctx); err != nil {
			return err
		}
	}
	if shop.Monitor != nil && serves(c, lifecycle.PaymentQueue) {
		watch := func() error { return keeper.StartMonitor(ctx, shop.Monitor.Wallet.Raw()) }
		if err := watch(); err != nil {
			return err
		}
		go keep(ctx, "the wallet's monitor", watch, log)
	}
	defer p.Examine(ctx, "worker", p.workerChecks(shop))()
	if c.Worker.MetricsAddr != "" {
		stop := app.ServeMetrics(c.Worker.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}
	log.Info("worker runs", "queues", c.Worker.Queues, "key", shop.Monitor != nil, "parallel", c.Delivery.Parallel)
	<-ctx.Done()
	log.Info("worker stops", "within", c.Worker.StopTimeout.String())
	return nil
}

// workers makes a worker for each queue that this process serves. Without the wallet's key it serves none where payments wait.
func (a process) workers(shop activities.Main, courier *activities.Courier, each []interceptor.WorkerInterceptor) (all []worker.Worker) {
	add := func(queue string, o worker.Options) worker.Worker {
		w := worker.New(a.Temporal, queue, o)
		all = append(all, w)
		return w
	}

	pays := shop.Monitor != nil && serves(a.Config, lifecycle.PaymentQueue)
	switch {
	case serves(a.Config, lifecycle.MainQueue):
		main := add(lifecycle.MainQueue, mainOptions(a.Config, each))
		workflows.Register(main, workflowSettings(a.Config))
		activities.RegisterMain(main, shop)
	case pays: // for this release: payments that 0.1.0 has left on the main queue
		activities.RegisterLeftPayments(add(lifecycle.MainQueue, leftPaymentsOptions(a.Config, each)), shop.Cashier, shop.Monitor)
	}
	if serves(a.Config, lifecycle.DeliveryQueue) {
		activities.RegisterDelivery(add(lifecycle.DeliveryQueue, streamingOptions(a.Config, each)), courier)
	}
	if serves(a.Config, lifecycle.TorrentQueue) {
		activities.RegisterFiles(add(lifecycle.TorrentQueue, filesOptions(a.Config, each)), shop.Downloads)
	}
	if shop.Monitor != nil && serves(a.Config, lifecycle.QuoteQueue) {
		activities.RegisterQuotes(add(lifecycle.QuoteQueue, quotesOptions(a.Config, each)), shop.Cashier)
	}
	if pays {
		activities.RegisterPayments(add(lifecycle.PaymentQueue, paymentsOptions(a.Config, each)), shop.Cashier, shop.Monitor)
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
	if ensure := a.downloadSync(); ensure != nil {
		return ensure(ctx)
	}
	return nil
}

func workflowSettings(c config.Config) workflows.Settings {
	return workflows.Settings{
		Delivery: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
			HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
		},
		Download: download.Settings{Grace: c.Download.Grace},
		Transaction: transaction.Settings{
			Attempts: c.Transactions.Attempts, RetryInterval: c.Transactions.RetryInterval, RebroadcastEvery: c.Transactions.RebroadcastEvery,
			ConfirmPatience: c.Transactions.ConfirmPatience, StuckAfter: c.Transactions.StuckAfter,
		},
	}
}

func (a process) courier() (*activities.Courier, error) {
	c := a.Config
	courier := &activities.Courier{
		Store: a.Store, Storage: a.Yandex, Telegram: a.Telegram, Temporal: a.Temporal,
		Metrics: a.Metrics, Log: a.Log,
		Settings: activities.CourierSettings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: c.Delivery.SendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: c.Delivery.ShortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
			CacheChat:     c.Telegram.CacheChat,
			HandOverAfter: handOverAfter(c.Worker.StopTimeout),
		},
	}
	if c.Delivery.Mode == "spool" {
		spool, err := activities.NewSpool(c.Delivery.SpoolDir, c.Telegram.SharedDir, c.Delivery.SpoolMaxBytes, c.Delivery.JobTimeout, a.Metrics.SpoolUsage)
		if err != nil {
			return nil, err
		}
		courier.Spool = spool
	}
	return courier, nil
}

func (a process) counts() *activities.Counts {
	for _, kind := range store.CountKinds() { // a counter that is not there yet cannot be seen to grow
		a.Metrics.CountCorrections.WithLabelValues(kind)
	}
	return &activities.Counts{
		Store: a.Store, Log: a.Log, OnCorrected: func(kind string) { a.Metrics.CountCorrections.WithLabelValues(kind).Inc() },
	}
}

func (a process) mediaSweep() *activities.MediaSweep {
	for _, result := range []string{activities.MediaSwept, activities.MediaStopped, activities.MediaSweepFailed} {
		a.Metrics.MediaSweeps.WithLabelValues(result)
	}
	return &activities.MediaSweep{
		Store: a.Store, Log: a.Log, Root: a.Config.Media.Root, SavePath: a.Config.QBittorrent.SavePath,
		Every: a.Config.Media.SweepEvery, MaxPercent: a.Config.Media.MaxPercent,
		OnSwept: func(result string) { a.Metrics.MediaSweeps.WithLabelValues(result).Inc() },
	}
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
