package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/workflows"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
	"stagecoach/workflows/transaction"
)

// cancelNotice is how soon a running activity hears of a cancel: the most that the SDK holds a heartbeat back.
const cancelNotice = 3 * time.Second

// taskPatience is how long a request about a task waits for its outcome: longer than a lost workflow task takes to be done again.
const taskPatience = 25 * time.Second

// reconcilerGap is how long nobody reconciles, at most, when an operator has ended the reconciler.
const reconcilerGap = 20 * time.Second

// Worker runs workflows and activities until ctx ends.
func Worker(ctx context.Context, c config.Config, log *slog.Logger) error {
	app, err := newCommon(ctx, c, log, "worker", (*codec.Codec).ApplyToWorkers)
	if err != nil {
		return err
	}
	defer app.close()
	defer app.beat(ctx)()
	var courier *activities.Courier
	if serves(c, lifecycle.DeliveryQueue) {
		if courier, err = app.courier(); err != nil {
			return err
		}
	}
	records := &activities.Records{Store: app.store, Rules: lifecycle.Delivery, Metrics: app.metrics}
	deliveries := app.deliveries()
	counted := []interceptor.WorkerInterceptor{app.pulse.Worker()}

	keeper := app.transactions()
	shop, err := app.shop(keeper)
	if err != nil {
		return err
	}
	if shop.Monitor != nil { // the limits may be others than before
		if err := app.store.RetryDeferred(ctx); err != nil {
			return err
		}
	}
	shop.Records = records
	shop.Tasks = &activities.Tasks{Store: app.store, Temporal: app.temporal, UnblockedSignal: lifecycle.TaskUnblockedSignal, Metrics: app.metrics}
	shop.Downloads, shop.DownloadSync = app.downloadActivities()
	shop.Reconciler = &activities.Reconciler{
		Temporal: app.temporal, Records: records, Log: log, StartDelivery: deliveries.Start, ShowDelivery: deliveries.Show, Tasks: app.tasks(),
		TellDelivery: deliveries.Tell, EndDelivery: deliveries.End, DeliveryHeartbeat: c.Delivery.Heartbeat, Payloads: app.payloads,
		Downloads: app.downloads(), DownloadRecords: shop.Downloads, EnsureDownloadSync: app.downloadSync(),
		Transactions: keeper, Purchases: shop.Transactions, StuckAfter: c.Transactions.StuckAfter, Every: 15 * time.Second,
		OnFinding: func(workload, finding string) { app.metrics.Findings.WithLabelValues(workload, finding).Inc() },
		OnSweep: func(err error) {
			result := "ok"
			if err != nil {
				result = "failed"
			}
			app.metrics.Sweeps.WithLabelValues(result).Inc()
		},
		Counts: app.counts(), Media: app.mediaSweep(), Watch: app.reporter().Watch, SweptSignal: reconciler.SweptSignal,
	}
	for _, workload := range lifecycle.Workloads { // a counter that is not there yet cannot be seen to grow
		for _, finding := range store.FindingKinds {
			app.metrics.Findings.WithLabelValues(workload, finding)
		}
	}
	shop.Retention = &activities.Retention{Store: app.store, Log: log}
	if shop.Monitor != nil {
		shop.Reconciler.Wallet = shop.Monitor.Wallet.Raw()
	}
	stop, err := run(app.workers(shop, courier, counted)...)
	if err != nil {
		return err
	}
	defer stop()
	if serves(c, lifecycle.MainQueue) {
		if err := app.startSingletons(ctx); err != nil {
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
	defer app.examine(ctx, "worker", app.workerChecks(shop))()
	if c.Worker.MetricsAddr != "" {
		stop := serve(c.Worker.MetricsAddr, app.metrics.Handler(), log)
		defer stop()
	}
	log.Info("worker runs", "queues", c.Worker.Queues, "key", shop.Monitor != nil, "parallel", c.Delivery.Parallel)
	<-ctx.Done()
	log.Info("worker stops", "within", c.Worker.StopTimeout.String())
	return nil
}

// workers makes a worker for each queue that this process serves. Without the wallet's key it serves none where payments wait.
func (a *common) workers(shop activities.Main, courier *activities.Courier, each []interceptor.WorkerInterceptor) (all []worker.Worker) {
	add := func(queue string, o worker.Options) worker.Worker {
		w := worker.New(a.temporal, queue, o)
		all = append(all, w)
		return w
	}

	pays := shop.Monitor != nil && serves(a.config, lifecycle.PaymentQueue)
	switch {
	case serves(a.config, lifecycle.MainQueue):
		main := add(lifecycle.MainQueue, mainOptions(a.config, each))
		workflows.Register(main, workflowSettings(a.config))
		activities.RegisterMain(main, shop)
	case pays: // for this release: payments that 0.1.0 has left on the main queue
		activities.RegisterLeftPayments(add(lifecycle.MainQueue, leftPaymentsOptions(a.config, each)), shop.Cashier, shop.Monitor)
	}
	if serves(a.config, lifecycle.DeliveryQueue) {
		activities.RegisterDelivery(add(lifecycle.DeliveryQueue, streamingOptions(a.config, each)), courier)
	}
	if serves(a.config, lifecycle.TorrentQueue) {
		activities.RegisterFiles(add(lifecycle.TorrentQueue, filesOptions(a.config, each)), shop.Downloads)
	}
	if shop.Monitor != nil && serves(a.config, lifecycle.QuoteQueue) {
		activities.RegisterQuotes(add(lifecycle.QuoteQueue, quotesOptions(a.config, each)), shop.Cashier)
	}
	if pays {
		activities.RegisterPayments(add(lifecycle.PaymentQueue, paymentsOptions(a.config, each)), shop.Cashier, shop.Monitor)
	}
	return all
}

// startSingletons starts the workflows of which there is one, but for the wallet's monitor.
func (a *common) startSingletons(ctx context.Context) error {
	reconcile := func() error {
		return startSingleton(ctx, a.temporal, reconciler.WorkflowType, reconciler.WorkflowID, reconciler.Title)
	}
	if err := reconcile(); err != nil {
		return err
	}
	go keep(ctx, "the reconciler", reconcile, a.log)

	if err := retention.EnsureSchedule(ctx, a.temporal, store.Retention(a.config.Retention)); err != nil {
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

func (a *common) courier() (*activities.Courier, error) {
	c := a.config
	courier := &activities.Courier{
		Store: a.store, Rules: lifecycle.Delivery, Storage: a.yandex, Telegram: a.telegram, Temporal: a.temporal,
		Metrics: a.metrics, Log: a.log,
		Settings: activities.CourierSettings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: c.Delivery.SendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: c.Delivery.ShortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
			CacheChat: c.Telegram.CacheChat, StageSignal: lifecycle.DeliveryStageSignal, AttemptSignal: lifecycle.DeliveryAttemptSignal,
			HandOverAfter: handOverAfter(c.Worker.StopTimeout),
		},
	}
	if c.Delivery.Mode == "spool" {
		spool, err := activities.NewSpool(c.Delivery.SpoolDir, c.Telegram.SharedDir, c.Delivery.SpoolMaxBytes, c.Delivery.JobTimeout, a.metrics.SpoolUsage)
		if err != nil {
			return nil, err
		}
		courier.Spool = spool
	}
	return courier, nil
}

func (a *common) deliveries() *service.Deliveries {
	return &service.Deliveries{
		Temporal: a.temporal, Store: a.store, MaxFileSize: a.config.Delivery.MaxFileSize, Log: a.log,
		CancelPatience: 3 * time.Second, Limits: service.DeliveryLimits{TTL: a.config.Delivery.TTL, JobTimeout: a.config.Delivery.JobTimeout},
		OnEnqueued: func(source string) { a.metrics.JobsEnqueued.WithLabelValues(source).Inc() },
	}
}

func (a *common) tasks() *service.Tasks {
	return &service.Tasks{
		Temporal: a.temporal, Store: a.store, Log: a.log, Patience: taskPatience,
		LeastDeadline: a.config.Tasks.LeastDeadline, LeastRelease: a.config.Tasks.LeastRelease,
		OnCreated: func(n int) { a.metrics.TasksCreated.Add(float64(n)) },
	}
}

func (a *common) counts() *activities.Counts {
	for _, kind := range store.CountKinds() { // a counter that is not there yet cannot be seen to grow
		a.metrics.CountCorrections.WithLabelValues(kind)
	}
	return &activities.Counts{
		Store: a.store, Log: a.log, OnCorrected: func(kind string) { a.metrics.CountCorrections.WithLabelValues(kind).Inc() },
	}
}

func (a *common) mediaSweep() *activities.MediaSweep {
	for _, result := range []string{activities.MediaSwept, activities.MediaStopped, activities.MediaSweepFailed} {
		a.metrics.MediaSweeps.WithLabelValues(result)
	}
	return &activities.MediaSweep{
		Store: a.store, Log: a.log, Root: a.config.Media.Root, SavePath: a.config.QBittorrent.SavePath,
		Every: a.config.Media.SweepEvery, MaxPercent: a.config.Media.MaxPercent,
		OnSwept: func(result string) { a.metrics.MediaSweeps.WithLabelValues(result).Inc() },
	}
}

// startSingleton makes sure that a workflow of which there is one runs.
func startSingleton(ctx context.Context, c client.Client, workflowType, id, summary string) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            summary,
	}, workflowType)
	return err
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

// serve runs a small HTTP server and gives the function that stops it.
func serve(addr string, handler http.Handler, log *slog.Logger) (stop func()) {
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served", "addr", addr, "error", err)
		}
	}()
	return func() { _ = server.Close() }
}
