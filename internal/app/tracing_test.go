package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"stagecoach/workflows"
	"stagecoach/workflows/download"
)

// savedHistories reads the histories that workloads have saved for their replay tests.
func savedHistories(t *testing.T) map[string]*historypb.History {
	t.Helper()
	paths, err := filepath.Glob("../../workflows/*/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no saved histories: %v", err)
	}

	histories := map[string]*historypb.History{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		history := &historypb.History{}
		if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, history); err != nil {
			t.Fatal(err)
		}
		histories[path] = history
	}

	return histories
}

// TestReplayUnderTracing replays every saved history with the interceptor, untraced as it was recorded and as part of a
// trace.
func TestReplayUnderTracing(t *testing.T) {
	t.Parallel()
	parent, err := converter.GetDefaultDataConverter().ToPayload(map[string]string{
		"traceparent": fmt.Sprintf("00-%032x-%016x-01", 7, 8),
	})
	if err != nil {
		t.Fatal(err)
	}

	for path, history := range savedHistories(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			spans := tracetest.NewInMemoryExporter()
			carrier, err := newCarrier(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
			if err != nil {
				t.Fatal(err)
			}

			replay := func() {
				t.Helper()
				replayer, err := worker.NewWorkflowReplayerWithOptions(
					worker.WorkflowReplayerOptions{
						Interceptors:             []interceptor.WorkerInterceptor{carrier},
						DisableDeadlockDetection: true, // a busy machine is none
					},
				)
				if err != nil {
					t.Fatal(err)
				}

				workflows.Register(replayer, workflows.Settings{Download: download.Settings{Grace: time.Hour}})
				history := proto.CloneOf(history) // a replay sets search attributes in its first event
				if err := replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history); err != nil {
					t.Error(err)
				}
			}

			replay()
			if got := spans.GetSpans(); len(got) > 0 {
				t.Errorf("nobody asked for it, and there are spans: %v", got)
			}

			history.Events[0].GetWorkflowExecutionStartedEventAttributes().Header = &commonpb.Header{Fields: map[string]*commonpb.Payload{"_tracer-data": parent}}
			replay()
			for _, span := range spans.GetSpans() {
				if span.SpanContext.TraceID() != (trace.TraceID{15: 7}) {
					t.Errorf("%s belongs to another trace", span.Name)
				}
			}
		})
	}
}

// TestSpansAreQuiet shows that no words of users and other systems enter a span.
func TestSpansAreQuiet(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	ctx, root := provider.Tracer("t").Start(t.Context(), "root")
	defer root.End()

	span := startQuietSpan(ctx, provider.Tracer("t"), "UpdateWorkflow:claim")
	failure := temporal.NewApplicationError("no such file: /secret", "FILE_NOT_FOUND")
	span.SetAttributes(
		attribute.String("temporalUpdateID", "7/my secret key"), attribute.String("temporalWorkflowID", "task/7"),
	)
	span.RecordError(errors.Join(failure))
	span.SetStatus(codes.Error, failure.Error())
	span.End()
	told := fmt.Sprintf("%+v", spans.GetSpans())
	if strings.Contains(told, "secret") {
		t.Errorf("the span tells too much: %s", told)
	}

	for _, want := range []string{"task/7", "FILE_NOT_FOUND"} {
		if !strings.Contains(told, want) {
			t.Errorf("the span does not tell %s: %s", want, told)
		}
	}
}
