package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

func (s *server) registerHealth() {
	register(s, operation{
		id: "get-health", method: http.MethodGet, path: "/health", tag: "Operations", summary: "Whether the process lives",
	}, func(context.Context, *struct{}) (*answer[shape.Health], error) {
		return answered(shape.Health{OK: true}), nil
	})

	// For the release after 0.1.0, where they were here. It is no operation: there is nothing to ask for.
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		newProblem(
			fault.MetricsMoved, "metrics are on a listener of their own: the setting STAGECOACH_API_METRICS_ADDR says where",
		).write(w)
	})
}
