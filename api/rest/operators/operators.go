package operators

import (
	"context"

	"go.temporal.io/sdk/client"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store/account"
)

// handlers answer the operations of operators.
type handlers struct {
	*server.Server
	status   *status.Reporter
	temporal client.Client
	ready    readiness
}

// Register adds the operations of operators to an API.
func Register(s *server.Server, reporter *status.Reporter, temporal client.Client) {
	h := &handlers{Server: s, status: reporter, temporal: temporal}

	public := server.Group{Server: s, Tag: "Operations"}
	server.Register(public, server.Operation{
		Id: "get-health", Route: "GET /health",
		Summary: "Whether the process lives",
	}, h.getHealth)

	server.Register(public, server.Operation{
		Id: "get-ready", Route: "GET /ready",
		Summary:     "Whether PostgreSQL and Temporal can be reached",
		Description: "As it was within the last second.",
		Faults:      []fault.Code{fault.TemporalUnavailable},
	}, h.getReady)

	operations := server.Group{Server: s, Tag: "Operations", Access: server.ForAdmins, Scope: account.ScopeOperate}
	server.Register(operations, server.Operation{
		Id: "get-status", Route: "GET /v1/status",
		Summary: "Get the state of the service",
	}, h.getStatus)

	server.Register(operations, server.Operation{
		Id: "list-alerts", Route: "GET /v1/alerts",
		Summary:     "Incidents that administrators are notified of, the newest first",
		Description: "One that comes back within five minutes is the same one.",
	}, h.listAlerts)

	server.Register(operations, server.Operation{
		Id: "list-findings", Route: "GET /v1/findings",
		Summary:     "What the reconciler found to differ between the record and Temporal, the newest first",
		Description: "One line per incident, however often it was looked at.",
	}, h.listFindings)

	server.Register(operations, server.Operation{
		Id: "list-audit", Route: "GET /v1/audit",
		Summary: "What administrators did and what people were refused, the newest first",
	}, h.listAudit)

	describeCounts(s.OpenAPI().Components.Schemas.SchemaFromRef(server.SchemaOf[shape.Status](s).Ref))
}

func (h *handlers) getHealth(context.Context, *struct{}) (shape.Health, error) {
	return shape.Health{OK: true}, nil
}
