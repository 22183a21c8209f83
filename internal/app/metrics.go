package app

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/internal/allowance"
	"stagecoach/internal/store"
)

// startAtZero makes a counter of ends exist before the first end: Prometheus sees no rise in what comes up as a one.
func startAtZero[S ~string](ends *prometheus.CounterVec, states ...S) {
	for _, state := range states {
		ends.WithLabelValues(string(state))
	}
}

// CountRefused gives what counts requests that are refused for a limit.
func (a *Connections) CountRefused() func(limit string) {
	// a counter that is not there yet cannot be seen to grow
	for _, limit := range slices.Concat(store.Parts.QuotaNames(), allowance.Limits) {
		a.Metrics.RequestsRefused.WithLabelValues(limit)
	}
	return func(limit string) { a.Metrics.RequestsRefused.WithLabelValues(limit).Inc() }
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
