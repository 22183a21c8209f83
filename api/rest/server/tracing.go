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

// traced makes each call of an operation the beginning of a trace, named by the route. A stream has no end, and who
// asks for health or metrics asks for nothing to be done.
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
