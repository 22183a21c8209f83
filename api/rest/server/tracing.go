package server

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// traced starts a trace, named after the route, at each call of an operation. Streams, which have no end, and health
// checks, which do no work, are not traced.
func traced(op Operation) func(huma.Context, func(huma.Context)) {
	method, path, _ := strings.Cut(op.Route, " ")
	if op.Stream || !strings.HasPrefix(path, "/v1/") {
		return func(ctx huma.Context, next func(huma.Context)) { next(ctx) }
	}

	tracer := otel.Tracer("stagecoach/rest")
	return func(ctx huma.Context, next func(huma.Context)) {
		spanned, span := tracer.Start(ctx.Context(), op.Route, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", path)))
		defer span.End()
		next(huma.WithContext(ctx, spanned))
		span.SetAttributes(attribute.Int("http.response.status_code", ctx.Status()))
		if ctx.Status() >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
}
