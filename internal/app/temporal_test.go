package app

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stagecoach/internal/temporalio"
)

// cloud answers as a Temporal does that lets its clients make no search attributes.
type cloud struct {
	operatorservice.UnimplementedOperatorServiceServer
	lists bool // else its clients may not even see them
}

func (c cloud) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	if !c.lists {
		return nil, status.Error(codes.Unimplemented, "unknown method")
	}
	response := &operatorservice.ListSearchAttributesResponse{}
	response.CustomAttributes = map[string]enumspb.IndexedValueType{
		temporalio.StageAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}
	return response, nil
}

func (cloud) AddSearchAttributes(
	context.Context, *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	return nil, status.Error(codes.PermissionDenied, "not for you")
}

// TestSearchAttributesRefused shows that such a Temporal does not stop the start: a warning names what is missing.
func TestSearchAttributesRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cloud cloud
		want  string
	}{
		{cloud{lists: true}, "[Assignee Attention DeadlineAt Entity Owner WaitsFor Workspace]"},
		{cloud{}, "[Assignee Attention DeadlineAt Entity Owner Stage WaitsFor Workspace]"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		server := grpc.NewServer()
		operatorservice.RegisterOperatorServiceServer(server, c.cloud)
		go server.Serve(listener)
		t.Cleanup(server.Stop)

		temporal, err := client.NewLazyClient(client.Options{
			HostPort: listener.Addr().String(), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(temporal.Close)

		var log bytes.Buffer
		app := &Connections{Temporal: temporal, Namespace: "ours.of-the-cloud", Log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := app.ensureSearchAttributes(t.Context()); err != nil {
			t.Errorf("%+v stops the start: %v", c.cloud, err)
		}

		for _, want := range []string{"level=WARN", "namespace=ours.of-the-cloud", c.want} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%+v: the log lacks %q: %s", c.cloud, want, &log)
			}
		}
	}
}
