package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/shape"
	"stagecoach/internal/service"
)

// dryRunJSON is the type of the answer to a dry run: the document keeps one schema for each type of an answer.
const dryRunJSON = "application/vnd.stagecoach.dry-run+json"

// Tried is embedded in the inputs of operations that can be tried. The others refuse the parameter, as all that they do
// not know.
type Tried struct {
	DryRun bool `query:"dry_run" doc:"Only say what the request would do now. Nothing is changed, no Idempotency-Key is used, and nothing is promised"`
}

func (t Tried) asksDryRun() bool { return t.DryRun }

// dryRun is the answer to a dry run. It travels as an error does: these may have another body than a success.
type dryRun struct{ shape.DryRun }

func (*dryRun) Error() string { return "this was a dry run" }

// GetStatus implements huma.StatusError.
func (*dryRun) GetStatus() int { return http.StatusOK }

// ContentType implements huma.ContentTypeFilter.
func (*dryRun) ContentType(string) string { return dryRunJSON }

// RegisterTried adds an operation that can be tried: try reads what handle would decide by, and changes nothing.
func RegisterTried[In interface{ asksDryRun() bool }, Body any](
	g Group, op Operation, handle func(context.Context, *In) (Body, error),
	try func(context.Context, *In) (shape.DryRun, error),
) {
	op.Tried = true
	Register(g, op, func(ctx context.Context, in *In) (none Body, err error) {
		if !(*in).asksDryRun() {
			return handle(ctx, in)
		}

		trial, err := try(ctx, in)
		if err != nil {
			return none, err
		}
		return none, &dryRun{trial}
	})
}

// DryRunFrom shows what a request would do.
func DryRunFrom(t service.Trial) shape.DryRun {
	body := shape.DryRun{DryRun: true, Allowed: t.Refusal == nil, ChangesNothing: t.ChangesNothing, Details: map[string]any{}}
	if t.Version > 0 {
		body.Version = &t.Version
	}

	if t.Refusal == nil {
		body.To = t.To
		return body
	}

	body.Code, body.Reason = &t.Refusal.Code, t.Refusal.Message
	if t.Refusal.Details != nil {
		body.Details = t.Refusal.Details
	}
	return body
}

// documentDryRun adds the answer of a dry run to an operation.
func (s *Server) documentDryRun(described *huma.Operation) {
	answer := described.Responses["200"]
	if answer == nil {
		answer = &huma.Response{Description: "With `dry_run=true`: what the request would do"}
		described.Responses["200"] = answer
	}

	if answer.Content == nil {
		answer.Content = map[string]*huma.MediaType{}
	}
	answer.Content[dryRunJSON] = &huma.MediaType{Schema: SchemaOf[shape.DryRun](s)}
}
