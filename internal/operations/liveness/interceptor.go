package liveness

import (
	"context"
	"strings"

	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// Worker counts the activities in flight in a worker of this process.
func (r *Reporter) Worker() interceptor.WorkerInterceptor { return &workerInterceptor{reporter: r} }

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	reporter *Reporter
}

func (w *workerInterceptor) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &activityInterceptor{
		ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, reporter: w.reporter,
	}
}

type activityInterceptor struct {
	interceptor.ActivityInboundInterceptorBase
	reporter *Reporter
}

func (a *activityInterceptor) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a.reporter.inFlight.Add(1)
	defer a.reporter.inFlight.Add(-1)
	return a.Next.ExecuteActivity(ctx, in)
}

// Calls records the outcome of calls to Temporal. A poll that brings no task is an answer too.
func (r *Reporter) Calls(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	switch code := status.Code(err); {
	case ctx.Err() != nil && err != nil, strings.Contains(method, "/Poll") && code == codes.DeadlineExceeded:
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Unauthenticated, code == codes.PermissionDenied:
		r.Note(operations.Temporal, fault.New(fault.TemporalUnavailable, "%s", code).Retry())
	default:
		r.Note(operations.Temporal, nil)
	}
	return err
}
