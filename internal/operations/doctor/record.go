package doctor

import (
	"context"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// OfPostgreSQL checks the record.
func OfPostgreSQL(record interface {
	About(ctx context.Context) (operations.About, error)
},
) Check {
	return Check{operations.PostgreSQL, func(ctx context.Context) Result {
		about, err := record.About(ctx)
		if err != nil {
			return failed(err, "see what the database says", AboutDatabase)
		}
		return Result{
			State: StateWorks, Account: about.Role + " in " + about.Database,
			Detail: fmt.Sprintf("PostgreSQL %s, schema %d", about.Version, about.Schema),
		}
	}}
}

// OfTemporal checks the workflow service.
func OfTemporal(temporal interface {
	WorkflowService() workflowservice.WorkflowServiceClient
}, namespace string,
) Check {
	return Check{operations.Temporal, func(ctx context.Context) Result {
		service := temporal.WorkflowService()
		system, err := service.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		if err != nil {
			return failed(temporalFault(err), "see what Temporal lets this process do", AboutDatabase)
		}

		described, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if err != nil {
			return failed(temporalFault(err), "make the namespace, or correct TEMPORAL_NAMESPACE", AboutDatabase)
		}

		kept := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
		return Result{
			State: StateWorks, Account: "namespace " + namespace,
			Detail: fmt.Sprintf("Temporal %s, keeps closed workflows %.0f h", system.GetServerVersion(), kept.Hours()),
		}
	}}
}

// temporalFault types an error of Temporal's API: the message of the other side stays behind.
func temporalFault(err error) error {
	switch code := serviceerror.ToStatus(err).Code(); code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached").Retry().WithCause(err)
	default:
		return fault.New(fault.Internal, "the workflow service answers %s", code).WithCause(err)
	}
}
