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

// handlers implement the operations for operators.
type handlers struct {
	*server.Server
	status   *status.Reporter
	temporal client.Client
	ready    readiness
}

// Register adds the operations for operators to an API.
func Register(s *server.Server, reporter *status.Reporter, temporal client.Client) {
	h := &handlers{Server: s, status: reporter, temporal: temporal}

	public := server.Group{Server: s, Tag: "Operations"}
	server.Register(public, server.Operation{
		Id: "get-health", Route: "GET /health",
		Summary: "Check that the process is alive",
	}, h.getHealth)

	server.Register(public, server.Operation{
		Id: "get-ready", Route: "GET /ready",
		Summary:     "Check that PostgreSQL and Temporal are reachable",
		Description: "The result may be up to one second old.",
		Faults:      []fault.Code{fault.TemporalUnavailable},
	}, h.getReady)

	operations := server.Group{Server: s, Tag: "Operations", Access: server.ForAdmins, Scope: account.ScopeOperate}
	server.Register(operations, server.Operation{
		Id: "get-status", Route: "GET /v1/status",
		Summary: "Get the service status",
	}, h.getStatus)

	server.Register(operations, server.Operation{
		Id: "list-alerts", Route: "GET /v1/alerts",
		Summary:     "List incidents that administrators are notified of, newest first",
		Description: "An incident that recurs within five minutes is the same one.",
	}, h.listAlerts)

	server.Register(operations, server.Operation{
		Id: "list-findings", Route: "GET /v1/findings",
		Summary:     "List differences between the record and Temporal found by the reconciler, newest first",
		Description: "One entry per incident, however often it was checked.",
	}, h.listFindings)

	server.Register(operations, server.Operation{
		Id: "list-audit", Route: "GET /v1/audit",
		Summary: "List actions of administrators and refused requests, newest first",
	}, h.listAudit)

	describeCounts(s.OpenAPI().Components.Schemas.SchemaFromRef(server.SchemaOf[shape.Status](s).Ref))
}

func (h *handlers) getHealth(context.Context, *struct{}) (shape.Health, error) {
	return shape.Health{OK: true}, nil
}
