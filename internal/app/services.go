package app

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
)

// taskPatience is how long a request about a task waits for its outcome: longer than a lost workflow task takes to be
// done again.
const taskPatience = 25 * time.Second

func (a *Connections) Deliveries() *service.Deliveries {
	return &service.Deliveries{
		Temporal: a.Temporal, Store: a.Store, MaxFileSize: a.Config.Delivery.MaxFileSize, Log: a.Log,
		CancelPatience: 3 * time.Second,
		Limits:         service.DeliveryLimits{TTL: a.Config.Delivery.TTL, JobTimeout: a.Config.Delivery.JobTimeout},
		OnEnqueued:     func(source string) { a.Metrics.JobsEnqueued.WithLabelValues(source).Inc() },
		Heartbeat:      a.Config.Delivery.Heartbeat, Payloads: a.Payloads,
		OnEnded: func(state lifecycle.DeliveryState) { a.Metrics.JobsCompleted.WithLabelValues(string(state)).Inc() },
	}
}

func (a *Connections) Tasks() *service.Tasks {
	return &service.Tasks{
		Temporal: a.Temporal, Store: a.Store, Log: a.Log, Patience: taskPatience,
		LeastDeadline: a.Config.Tasks.LeastDeadline, LeastRelease: a.Config.Tasks.LeastRelease,
		OnCreated: func(n int) { a.Metrics.TasksCreated.Add(float64(n)) },
	}
}

// ServeMetrics runs a small HTTP server and gives the function that stops it.
func ServeMetrics(addr string, handler http.Handler, log *slog.Logger) (stop func()) {
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served", "addr", addr, "error", err)
		}
	}()
	return func() { _ = server.Close() }
}
