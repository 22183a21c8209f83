package tool

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// ProblemKey is the key of a refusal in a result's _meta, for programs.
const ProblemKey = "stagecoach/problem"

// Problem is why a call was refused, and what is allowed instead.
type Problem struct {
	Code    fault.Code         `json:"code"`
	Detail  string             `json:"detail"`
	Details map[string]any     `json:"details,omitempty"`
	Errors  []shape.FieldError `json:"errors,omitempty"`
	Instead any                `json:"allowed_instead,omitempty"`
}

// problemOf converts an error to what the caller may see; it contains no text by others. false: an internal error.
func problemOf(err error) (Problem, bool) {
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		return Problem{Code: refusal.Code, Detail: refusal.Sentence(), Details: refusal.Details, Errors: refusal.Errors}, true
	}

	refused := fault.As(err)
	if refused == nil {
		return Problem{Code: fault.Internal, Detail: "the service has failed"}, false
	}

	p := Problem{Code: refused.Code, Detail: refused.Message, Details: refused.Details}
	if refused.Field != "" {
		p.Errors = []shape.FieldError{{Field: refused.Field, Message: refused.Message}}
	}
	return p, true
}

// refusal returns the result of a refused call. It is not a protocol error: the agent is supposed to read it.
func (e *endpoint) refusal(
	ctx context.Context, c *Call, t Tool, arguments json.RawMessage, err error,
) *mcp.CallToolResult {
	problem, known := problemOf(err)
	if !known && ctx.Err() == nil {
		e.API.Log.Error("tool failed", "tool", t.Name, "error", err)
	}

	refusal, _ := errors.AsType[*client.Refusal](err)
	if t.rejected != nil && refusal != nil && (refusal.Status == http.StatusConflict || refusal.Status == http.StatusForbidden) {
		problem.Instead = t.rejected(ctx, c, arguments)
	}
	return refused(problem)
}

func refused(p Problem) *mcp.CallToolResult {
	text, err := framed(string(p.Code)+": "+Visible(p.Detail), p)
	if err != nil {
		text = string(p.Code)
	}
	return &mcp.CallToolResult{
		IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}, Meta: mcp.Meta{ProblemKey: p},
	}
}
