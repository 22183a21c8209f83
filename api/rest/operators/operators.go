package operators

import (
	"context"
	"net/http"

	"go.temporal.io/sdk/client"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/operations/status"
)

// handlers answer the operations of operators.
type handlers struct {
	*server.Server
	status   *status.Reporter
	doctor   *doctor.Doctor
	temporal client.Client
	ready    readiness
}

// Register adds the operations of operators to an API.
func Register(s *server.Server, reporter *status.Reporter, checks *doctor.Doctor, temporal client.Client) {
	h := &handlers{Server: s, status: reporter, doctor: checks, temporal: temporal}

	server.Register(s, getHealth, h.getHealth)
	server.Register(s, getReady, h.getReady)
	server.Register(s, getStatus, h.getStatus)
	describeCounts(s.OpenAPI().Components.Schemas.SchemaFromRef(server.SchemaOf[shape.Status](s).Ref))
	server.Register(s, getDoctor, h.getDoctor)
	server.Register(s, askDoctor, h.askDoctor)
	server.Register(s, listFindings, h.listFindings)
	server.Register(s, listAudit, h.listAudit)

	// Release 0.1.0 served the metrics here. This is no operation: there is nothing to ask for.
	s.Mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		server.NewProblem(
			fault.MetricsMoved, "metrics are on a listener of their own: the setting STAGECOACH_API_METRICS_ADDR says where",
		).Write(w)
	})
}

var getHealth = server.Operation{
	Id: "get-health", Method: http.MethodGet, Path: "/health", Tag: "Operations", Summary: "Whether the process lives",
}

func (h *handlers) getHealth(context.Context, *struct{}) (shape.Health, error) {
	return shape.Health{OK: true}, nil
}
