package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities"
	"stagecoach/internal/config"
	"stagecoach/workflows"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/lifecycle"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/task"
	"stagecoach/workflows/transaction"
)

// cancelNotice is how soon a running activity hears of a cancel: the most that the SDK holds a heartbeat back.
const cancelNotice = 3 * time.Second

// taskPatience is how long a request about a task waits for its outcome: longer than a lost workflow task takes to be done again.
const taskPatience = 25 * time.Second

// stickyPatience is how long a workflow's task waits for the worker that has the workflow in memory; the SDK's own 5 s
// are too few when a thousand deadlines fall due at once.
const stickyPatience = 10 * time.Second

// quotesAtOnce is how many orders a worker prices at once. Fragment is asked about twice a second.
const quotesAtOnce = 2

// Worker runs workflows and activities until ctx ends.
func Worker(ctx context.Context, c config.Config, log *slog.Logger) error {
	app, err := newCommon(ctx, c, log)
	if err != nil {
		return err
	}
	defer app.close()
	courier, err := app.courier()
	if err != nil {
		return err
	}
	records := &activities.Records{Store: app.store, Rules: delivery.Rules, Metrics: app.metrics}
	deliveries := app.deliveries()

	main := worker.New(app.temporal, lifecycle.MainQueue, worker.Options{
		WorkerStopTimeout: c.Worker.StopTimeout,
		// The default two pollers may both wait at the worker's own sticky queue while new workflows lie in the common one.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		// Many timers at once: a task that waited long is not thrown back and replayed from its start. A worker that died
		// holds its workflows up for as long.
		StickyScheduleToStartTimeout: stickyPatience,
	})
	workflows.Register(main, workflows.Settings{
		Delivery: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
			HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
		},
		Download: download.Settings{Grace: c.Download.Grace},
		Transaction: transaction.Settings{
			Attempts: c.Transactions.Attempts, RetryInterval: c.Transactions.RetryInterval, RebroadcastEvery: c.Transactions.RebroadcastEvery,
			ConfirmPatience: c.Transactions.ConfirmPatience, StuckAfter: c.Transactions.StuckAfter,
		},
	})
	keeper := app.transactions()
	shop, err := app.shop(keeper)
	if err != nil {
		return err
	}
	shop.Records = records
	shop.Tasks = &activities.Tasks{Store: app.store, Temporal: app.temporal, UnblockedSignal: task.UnblockedSignal, Log: log}
	shop.Downloads, shop.DownloadSync = app.downloadActivities()
	shop.Reconciler = &activities.Reconciler{
		Temporal: app.temporal, Records: records, Log: log, StartDelivery: deliveries.Start, Tasks: app.tasks(),
		Downloads: app.downloads(), DownloadRecords: shop.Downloads,
		Transactions: keeper, Purchases: shop.Transactions, StuckAfter: c.Transactions.StuckAfter, Every: 15 * time.Second,
	}
	if shop.Monitor != nil {
		shop.Reconciler.Wallet = shop.Monitor.Wallet.Raw()
	}
	activities.RegisterMain(main, shop)
	streaming := worker.New(app.temporal, delivery.Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: c.Delivery.Parallel,
		// Two pollers cannot fetch many small jobs fast enough; more of them come with a backlog only, for each poll of a worker
		// that freezes swallows a try.
		ActivityTaskPollerBehavior:   worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 2}),
		TaskQueueActivitiesPerSecond: c.Delivery.RatePerSecond,
		MaxHeartbeatThrottleInterval: cancelNotice,
		DisableWorkflowWorker:        true,
		WorkerStopTimeout:            c.Worker.StopTimeout,
	})
	activities.RegisterDelivery(streaming, courier)

	quotes := worker.New(app.temporal, transaction.QuoteQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: quotesAtOnce,
		DisableWorkflowWorker:              true,
		WorkerStopTimeout:                  c.Worker.StopTimeout,
	})
	activities.RegisterQuotes(quotes, shop.Cashier)

	if err := main.Start(); err != nil {
		return err
	}
	defer main.Stop()
	if err := streaming.Start(); err != nil {
		return err
	}
	defer streaming.Stop()
	if err := quotes.Start(); err != nil {
		return err
	}
	defer quotes.Stop()
	if err := startSingleton(ctx, app.temporal, reconciler.WorkflowType, reconciler.WorkflowID, "Keeps the record and Temporal agreeing"); err != nil {
		return err
	}
	if c.QBittorrent.URL != "" {
		if err := startSingleton(ctx, app.temporal, download.SyncType, download.SyncID, "Watches over all downloads"); err != nil {
			return err
		}
	}
	if shop.Monitor != nil {
		if err := keeper.StartMonitor(ctx, shop.Reconciler.Wallet); err != nil {
			return err
		}
	}
	if c.Worker.MetricsAddr != "" {
		stop := serve(c.Worker.MetricsAddr, app.metrics.Handler(), log)
		defer stop()
	}
	log.Info("worker runs", "queues", []string{lifecycle.MainQueue, delivery.Queue, transaction.QuoteQueue}, "parallel", c.Delivery.Parallel)
	<-ctx.Done()
	return nil
}

func (a *common) courier() (*activities.Courier, error) {
	c := a.config
	courier := &activities.Courier{
		Store: a.store, Rules: delivery.Rules, Storage: a.yandex, Telegram: a.telegram, Temporal: a.temporal,
		Metrics: a.metrics, Log: a.log,
		Settings: activities.CourierSettings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: c.Delivery.SendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: c.Delivery.ShortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
			CacheChat: c.Telegram.CacheChat, StageSignal: delivery.StageSignal,
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

func (a *common) deliveries() *delivery.Client {
	return &delivery.Client{
		Temporal: a.temporal, Store: a.store, MaxFileSize: a.config.Delivery.MaxFileSize, Log: a.log,
		CancelPatience: 3 * time.Second,
		OnEnqueued:     func(source string) { a.metrics.JobsEnqueued.WithLabelValues(source).Inc() },
	}
}

func (a *common) tasks() *task.Client {
	return &task.Client{Temporal: a.temporal, Store: a.store, Log: a.log, Patience: taskPatience}
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
