package liveness

import (
	"context"
	"strings"

	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stagecoach/internal/fault"
)

// Worker gives what counts the activities that a worker of this process carries.
func (p *Reporter) Worker() interceptor.WorkerInterceptor { return &counting{pulse: p} }

type counting struct {
	interceptor.WorkerInterceptorBase
	pulse *Reporter
}

func (c *counting) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &carrying{
		ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, pulse: c.pulse,
	}
}

type carrying struct {
	interceptor.ActivityInboundInterceptorBase
	pulse *Reporter
}

func (c *carrying) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	defer c.pulse.Carry()()
	return c.Next.ExecuteActivity(ctx, in)
}

// Calls notes how Temporal answers. A poll that nothing came for is an answer too.
func (p *Reporter) Calls(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	switch code := status.Code(err); {
	case ctx.Err() != nil && err != nil, strings.Contains(method, "/Poll") && code == codes.DeadlineExceeded:
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Unauthenticated, code == codes.PermissionDenied:
		p.Note(Temporal, fault.New(fault.TemporalUnavailable, "%s", code).Retry())
	default:
		p.Note(Temporal, nil)
	}
	return err
}
