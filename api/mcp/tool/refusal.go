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

// ProblemKey is where programs find a refusal in the _meta of a result.
const ProblemKey = "stagecoach/problem"

// Problem is why a call was refused, and what is allowed in place of it.
type Problem struct {
	Code    fault.Code         `json:"code"`
	Detail  string             `json:"detail"`
	Details map[string]any     `json:"details,omitempty"`
	Errors  []shape.FieldError `json:"errors,omitempty"`
	Instead any                `json:"allowed_instead,omitempty"`
}

// problemOf gives what a caller sees of an error; it has no words of others. false: the error is ours.
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

// refusal gives the result of a call that was refused. It is no error of the protocol: the agent is to read it.
func (e *endpoint) refusal(
	ctx context.Context, c *Call, t Tool, arguments json.RawMessage, err error,
) *mcp.CallToolResult {
	problem, known := problemOf(err)
	if !known && ctx.Err() == nil {
		e.API.Log.Error("a tool failed", "tool", t.Name, "error", err)
	}

	if t.rejected != nil && conflicts(err) {
		problem.Instead = t.rejected(ctx, c, arguments)
	}
	return refused(problem)
}

// conflicts says whether something else may be possible where this is not.
func conflicts(err error) bool {
	refusal, ok := errors.AsType[*client.Refusal](err)
	return ok && (refusal.Status == http.StatusConflict || refusal.Status == http.StatusForbidden)
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
