package doctor

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// OfPostgreSQL checks the record. While the record is unavailable, the result reaches no administrator.
func OfPostgreSQL(record interface {
	About(ctx context.Context) (operations.About, error)
},
) Check {
	return Check{operations.PostgreSQL, func(ctx context.Context) operations.Check {
		about, err := record.About(ctx)
		if err != nil {
			return failed(err, "see what the database says", AboutDatabase)
		}
		return operations.Check{
			State: operations.CheckWorks, Account: about.Role + " in " + about.Database,
			Detail: fmt.Sprintf("PostgreSQL %s, schema %d", about.Version, about.Schema),
		}
	}}
}

// OfTemporal checks the workflow service.
func OfTemporal(temporal interface {
	WorkflowService() workflowservice.WorkflowServiceClient
}, namespace string,
) Check {
	return Check{operations.Temporal, func(ctx context.Context) operations.Check {
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
		return operations.Check{
			State: operations.CheckWorks, Account: "namespace " + namespace,
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

// separator joins the names of the queues that a process serves.
const separator = ", "

// OfQueues reports which task queues a worker serves.
func OfQueues(served []string) Check {
	if len(served) == 0 {
		return Off(Queues, "a worker for payments, without a wallet's key", AboutWallet)
	}
	return Check{Queues, func(context.Context) operations.Check {
		return operations.Check{State: operations.CheckWorks, Detail: strings.Join(served, separator)}
	}}
}
