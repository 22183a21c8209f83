package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/outbound"
)

// flushTime is how long an ending process waits for its last spans to be accepted.
const flushTime = 3 * time.Second

// processTraces is a process's provider: dev runs both services in one.
var processTraces struct {
	sync.Mutex
	*sdktrace.TracerProvider
}

// traces sends spans to the receiver at address. The interceptors carry a trace from a request through a workflow into
// its activities; flush sends the remaining spans. Without an address there are none.
func traces(
	ctx context.Context, address string, log *slog.Logger,
) (interceptors []interceptor.ClientInterceptor, flush func(), err error) {
	if address == "" {
		return nil, func() {}, nil
	}

	processTraces.Lock()
	defer processTraces.Unlock()

	if processTraces.TracerProvider == nil {
		if processTraces.TracerProvider, err = newTraces(ctx, address, log); err != nil {
			return nil, nil, err
		}
	}

	provider := processTraces.TracerProvider
	flush = func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		if err := provider.ForceFlush(ctx); err != nil {
			otel.Handle(err)
		}
	}

	carrier, err := newCarrier(provider)
	return []interceptor.ClientInterceptor{carrier}, flush, err
}

// newCarrier makes the interceptor that carries a trace in the headers of workflows and activities. It adds no command
// to a workflow, so histories from before it was enabled or after it was disabled replay unchanged.
func newCarrier(provider trace.TracerProvider) (interceptor.Interceptor, error) {
	return opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: provider.Tracer("temporal"), DisableQueryTracing: true, DisableBaggage: true, AllowInvalidParentSpans: true,
		SpanStarter: startQuietSpan,
	})
}

func newTraces(ctx context.Context, address string, log *slog.Logger) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address+"/v1/traces"))
	if err != nil {
		return nil, err
	}

	us, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "stagecoach"), attribute.String("service.version", Version),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}

	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(us))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		log.Warn("tracing error", "error", err)
	}))

	return provider, nil
}

// startQuietSpan starts a span for work that a request caused. Work without a request, such as a watcher's polls, would
// be an endless trace: it gets no span.
func startQuietSpan(
	ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption,
) trace.Span {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return noop.Span{}
	}
	_, span := tracer.Start(ctx, name, options...)
	return quietSpan{span}
}

// quietSpan drops what users and other systems wrote: request keys and error texts.
type quietSpan struct{ trace.Span }

func (s quietSpan) SetAttributes(all ...attribute.KeyValue) {
	for _, a := range all {
		switch a.Key {
		case "temporalWorkflowID", "temporalRunID", "temporalActivityID":
			s.Span.SetAttributes(a)
		}
	}
}

func (s quietSpan) SetStatus(code codes.Code, _ string) { s.Span.SetStatus(code, "") }

func (s quietSpan) RecordError(err error, _ ...trace.EventOption) {
	if known, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		s.Span.SetAttributes(attribute.String("error.type", known.Type()))
	}
}

// TraceStart begins a trace with the start of a workflow that no request caused.
func TraceStart(name string, start func(context.Context, string) error) func(context.Context, string) error {
	tracer := otel.Tracer("stagecoach/activities")
	return func(ctx context.Context, id string) error {
		ctx, span := tracer.Start(ctx, name, trace.WithNewRoot())
		defer span.End()
		return start(ctx, id)
	}
}

// Observer returns where an external system's client reports its requests: they are timed and, within a trace, shown,
// and their results tell whether the system can be reached.
func (a *Connections) Observer(system string, latency *prometheus.HistogramVec) outbound.Observer {
	tracer := otel.Tracer("stagecoach/" + system)
	return outbound.Observer{
		OnResult: a.Liveness.Noting(system),
		OnLatency: func(ctx context.Context, op string, took time.Duration) {
			latency.WithLabelValues(op).Observe(took.Seconds())
			if trace.SpanContextFromContext(ctx).IsValid() {
				_, span := tracer.Start(
					ctx, system+" "+op, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(time.Now().Add(-took)),
				)
				span.End()
			}
		},
	}
}
