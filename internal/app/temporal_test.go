package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stagecoach/internal/metrics"
	"stagecoach/internal/temporalio"
)

// cloud answers like a Temporal that lets its clients create no search attributes.
type cloud struct {
	operatorservice.UnimplementedOperatorServiceServer
	lists bool // otherwise its clients may not even see them
	types map[string]enumspb.IndexedValueType
}

func (c cloud) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	if !c.lists {
		return nil, status.Error(codes.Unimplemented, "unknown method")
	}
	response := &operatorservice.ListSearchAttributesResponse{}
	response.CustomAttributes = c.types
	return response, nil
}

func (cloud) AddSearchAttributes(
	context.Context, *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	return nil, status.Error(codes.PermissionDenied, "not for you")
}

// TestSearchAttributesRefused shows that such a Temporal does not prevent the start: a warning names what is missing.
func TestSearchAttributesRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cloud cloud
		want  string
	}{
		{
			cloud{lists: true, types: map[string]enumspb.IndexedValueType{
				temporalio.StageAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			}}, "[Assignee Attention DeadlineAt Entity Owner WaitsFor Workspace]",
		},
		{
			cloud{lists: true, types: map[string]enumspb.IndexedValueType{
				temporalio.StageAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_TEXT,
			}}, "[Assignee Attention DeadlineAt Entity Owner WaitsFor Workspace Stage is Text instead of Keyword]",
		},
		{cloud{}, "[Assignee Attention DeadlineAt Entity Owner Stage WaitsFor Workspace]"},
	} {
		var log bytes.Buffer
		app := connectTo(t, c.cloud, &log)
		if err := app.ensureSearchAttributes(t.Context()); err != nil {
			t.Errorf("%+v stops the start: %v", c.cloud, err)
		}

		for _, want := range []string{"level=ERROR", "namespace=ours.of-the-cloud", c.want} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%+v: the log lacks %q: %s", c.cloud, want, &log)
			}
		}
	}
}

// connectTo returns a process's connections to such a Temporal.
func connectTo(t *testing.T, server operatorservice.OperatorServiceServer, log io.Writer) *Connections {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	serving := grpc.NewServer()
	operatorservice.RegisterOperatorServiceServer(serving, server)
	go serving.Serve(listener)
	t.Cleanup(serving.Stop)

	temporal, err := client.NewLazyClient(client.Options{
		HostPort: listener.Addr().String(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(temporal.Close)

	return &Connections{
		Temporal: temporal, Namespace: "ours.of-the-cloud", Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics.New(),
	}
}

// losing is a Temporal whose operator removes an attribute, and changes another's type, while programs run.
type losing struct {
	cloud
	added chan map[string]enumspb.IndexedValueType
}

func (l losing) AddSearchAttributes(
	_ context.Context, asked *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	l.added <- asked.SearchAttributes
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

// TestSearchAttributesAreKept shows that a running program re-creates a removed attribute, and reports one of another
// type.
func TestSearchAttributesAreKept(t *testing.T) {
	t.Parallel()
	server := losing{
		cloud: cloud{lists: true, types: map[string]enumspb.IndexedValueType{
			temporalio.OwnerAttribute.GetName(): enumspb.INDEXED_VALUE_TYPE_TEXT,
		}},
		added: make(chan map[string]enumspb.IndexedValueType),
	}

	app := connectTo(t, server, io.Discard)
	defer background(t.Context(), func(ctx context.Context) { app.keepSearchAttributes(ctx, time.Millisecond) })()
	added := <-server.added
	if len(added) != 7 || added[temporalio.DeadlineAttribute.GetName()] != enumspb.INDEXED_VALUE_TYPE_DATETIME {
		t.Errorf("created again: %v", added)
	}
	<-server.added // a later round: the first one has ended
	families, err := app.Metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "search_attributes_wrong_current" && family.Metric[0].Gauge.GetValue() == 1 {
			return
		}
	}
	t.Error("the metric does not count the attribute of another type")
}
