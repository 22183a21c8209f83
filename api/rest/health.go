package rest

import (
	"context"
	"net/http"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
)

// readyTime is how long either service may take to say that it is there.
const readyTime = 2 * time.Second

type healthBody struct {
	OK bool `json:"ok"`
}

type readyBody struct {
	Postgres bool `json:"postgres"`
	Temporal bool `json:"temporal"`
}

func (s *server) registerHealth() {
	register(s, operation{
		id: "get-health", method: http.MethodGet, path: "/health", tag: "Operations", summary: "Whether the process lives",
	}, func(context.Context, *struct{}) (*answer[healthBody], error) {
		return answered(healthBody{OK: true}), nil
	})

	register(s, operation{
		id: "get-ready", method: http.MethodGet, path: "/ready", tag: "Operations",
		summary: "Whether PostgreSQL and Temporal can be reached", faults: []fault.Code{fault.TemporalUnavailable},
	}, s.getReady)

	// For the release after 0.1.0, where they were here. It is no operation: there is nothing to ask for.
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		newProblem(fault.MetricsMoved, "metrics are on a listener of their own: the setting STAGECOACH_API_METRICS_ADDR says where").write(w)
	})
}

func (s *server) getReady(ctx context.Context, _ *struct{}) (*answer[readyBody], error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	noStore := s.o.Store.Ping(ctx)
	_, noTemporal := s.o.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	body := readyBody{Postgres: noStore == nil, Temporal: noTemporal == nil}
	var refusal *fault.Error
	switch {
	case noStore != nil:
		refusal = fault.New(fault.StoreUnavailable, "the database cannot be reached").WithCause(noStore)
	case noTemporal != nil:
		refusal = fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached").WithCause(noTemporal)
	default:
		return answered(body), nil
	}
	return nil, refusal.With("postgres", body.Postgres).With("temporal", body.Temporal)
}
