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

// startAtZero creates a counter of ends before the first end: Prometheus sees no increase in a counter that begins at
// one.
func startAtZero[S ~string](ends *prometheus.CounterVec, states ...S) {
	for _, state := range states {
		ends.WithLabelValues(string(state))
	}
}

// CountRefused returns a function that counts requests refused for a limit.
func (a *Connections) CountRefused() func(limit string) {
	// Prometheus sees no increase in a counter that begins at one.
	for _, limit := range slices.Concat(store.Parts.QuotaNames(), allowance.Limits) {
		a.Metrics.RequestsRefused.WithLabelValues(limit)
	}
	return func(limit string) { a.Metrics.RequestsRefused.WithLabelValues(limit).Inc() }
}

// ServeMetrics runs a small HTTP server and returns the function that stops it.
func ServeMetrics(addr string, handler http.Handler, log *slog.Logger) (stop func()) {
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics not served", "addr", addr, "error", err)
		}
	}()
	return func() { _ = server.Close() }
}
