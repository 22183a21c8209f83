package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

func OfPostgreSQL(record interface {
	About(ctx context.Context) (operations.About, error)
	Ping(ctx context.Context) error
},
) Check {
	return Check{operations.PostgreSQL, func(ctx context.Context) Result {
		about, err := record.About(ctx)
		if err != nil {
			return failed(err, "see what the database says", AboutDatabase)
		}
		found := Result{
			State: StateWorks, Account: about.Role + " in " + about.Database,
			Detail: fmt.Sprintf("PostgreSQL %s, schema %d", about.Version, about.Schema),
		}
		if err := record.Ping(ctx); err != nil {
			refused := temporalio.FaultOf(err)
			found.State, found.Code = StateRefused, refused.Code
			found.Detail += ", " + refused.Message
			found.Next = "see what the database says: " + AboutDatabase
			if core.RefusesWrites(err) {
				found.Next = "free its disk, or name the server that was promoted: see " + AboutWrites
			}
		}
		return found
	}}
}

// OfTemporal checks the workflow service.
func OfTemporal(temporal interface {
	WorkflowService() workflowservice.WorkflowServiceClient
	temporalio.Operator
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

		missing, wrong, err := temporalio.WrongSearchAttributes(ctx, temporal, namespace)
		switch {
		case err != nil && !temporalio.Forbidden(err): // in Temporal Cloud listing them is forbidden
			return failed(temporalFault(err), "see what Temporal lets this process do", AboutDatabase)
		case err == nil && len(missing)+len(wrong) > 0:
			for _, name := range slices.Sorted(maps.Keys(missing)) {
				wrong = append(wrong, name+" is missing")
			}
			return Result{
				State: StateRefused, Account: "namespace " + namespace, Code: fault.Internal,
				Detail: "search attributes: " + strings.Join(wrong, ", "), Next: "create them as they should be: " + AboutSearch,
			}
		}

		kept := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
		return Result{
			State: StateWorks, Account: "namespace " + namespace,
			Detail: fmt.Sprintf("Temporal %s, keeps closed workflows %.0f h", system.GetServerVersion(), kept.Hours()),
		}
	}}
}

// temporalFault types an error of Temporal's API, dropping the other side's message.
func temporalFault(err error) error {
	switch code := serviceerror.ToStatus(err).Code(); code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached").Retry().WithCause(err)
	default:
		return fault.New(fault.Internal, "the workflow service answers %s", code).WithCause(err)
	}
}
