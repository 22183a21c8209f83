package main

import (
	"context"
	"net"
	"path"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// temporal answers what programs ask Temporal during their start, but for one call that it holds. It has no work.
type temporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
	address string

	held     string        // name of the call that is held; empty: none
	arrived  chan struct{} // is closed when it has come
	released chan struct{} // is closed when it is answered, unless its client has given it up
	arrive   func()
	release  func()
}

func startTemporal(t *testing.T, held string) *temporal {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	s := &temporal{
		address: listener.Addr().String(), held: held, arrived: make(chan struct{}), released: make(chan struct{}),
	}
	s.arrive = sync.OnceFunc(func() { close(s.arrived) })
	s.release = sync.OnceFunc(func() { close(s.released) })

	server := grpc.NewServer(grpc.UnaryInterceptor(s.answer))
	workflowservice.RegisterWorkflowServiceServer(server, s)
	operatorservice.RegisterOperatorServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

// uncancellable is the one call of the start that the client makes without a context of ours.
const uncancellable = "DescribeNamespace"

func (s *temporal) answer(
	ctx context.Context, request any, about *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	switch name := path.Base(about.FullMethod); {
	case strings.HasPrefix(name, "Poll"):
		<-ctx.Done()
		return nil, ctx.Err()
	case name == s.held && name == uncancellable:
		s.arrive()
		<-s.released
	case name == s.held:
		s.arrive()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return handle(ctx, request)
}

// holds reports whether the call that is held has come.
func (s *temporal) holds() bool {
	select {
	case <-s.arrived:
		return true
	default:
		return false
	}
}

func (*temporal) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (*temporal) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (*temporal) StartWorkflowExecution(
	context.Context, *workflowservice.StartWorkflowExecutionRequest,
) (*workflowservice.StartWorkflowExecutionResponse, error) {
	return &workflowservice.StartWorkflowExecutionResponse{RunId: "run"}, nil
}

func (*temporal) CreateSchedule(
	context.Context, *workflowservice.CreateScheduleRequest,
) (*workflowservice.CreateScheduleResponse, error) {
	return &workflowservice.CreateScheduleResponse{}, nil
}

func (*temporal) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (*temporal) AddSearchAttributes(
	context.Context, *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	return &operatorservice.AddSearchAttributesResponse{}, nil
}
