// Package tool is what all tools of the Model Context Protocol share: how one is declared, who may call it, how it
// reaches the HTTP API, and how its answers and refusals look.
//
// A tool is a client of the HTTP API in its own process, as a page is: it makes requests as the caller. So it has no
// rule, no query and no check of rights of its own.
package tool

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/rest/server"
	"stagecoach/internal/store/account"
)

// Tool is one tool as an agent sees it, and what it does.
type Tool struct {
	About
	input    *jsonschema.Schema
	output   *jsonschema.Schema
	checked  *jsonschema.Resolved // the input
	perform  func(ctx context.Context, c *Call, arguments json.RawMessage) (outcome, error)
	rejected func(ctx context.Context, c *Call, arguments json.RawMessage) any // nil: nothing
}

// About describes a tool.
type About struct {
	Name        string
	Description string
	Scopes      []account.Scope // that a token needs; none: every token may call it
	OneOf       []account.Scope // of which a token needs one besides
	Admins      bool            // for administrators only
	Reads       bool            // changes nothing
	Destroys    bool            // ends or undoes something
	Repeatable  bool            // the same call again changes nothing more
	Outside     bool            // something outside of this service is reached
}

// Answer is what a tool gives: a value of its output's type, and a sentence about it in our own words.
type Answer[Out any] struct {
	Value   Out
	Summary string
}

type outcome struct {
	value   any
	summary string
}

// New makes a tool. The schemas of its arguments and of its answer come from the types.
func New[In, Out any](about About, do func(ctx context.Context, c *Call, in In) (Answer[Out], error)) Tool {
	t := Tool{About: about, input: inputOf[In](), output: outputOf[Out]()}
	t.checked = resolve(t.input)
	t.perform = func(ctx context.Context, c *Call, arguments json.RawMessage) (outcome, error) {
		in, err := read[In](t.checked, arguments)
		if err != nil {
			return outcome{}, err
		}
		answer, err := do(ctx, c, in)
		return outcome{answer.Value, answer.Summary}, err
	}

	return t
}

// Instead adds what a refusal tells besides its reason: what the caller may do in place of it. nil: nothing.
func Instead[In any](t Tool, options func(ctx context.Context, c *Call, in In) any) Tool {
	t.rejected = func(ctx context.Context, c *Call, arguments json.RawMessage) any {
		in, err := read[In](t.checked, arguments)
		if err != nil {
			return nil
		}
		return options(ctx, c, in)
	}
	return t
}

// WithFields adds fields to what the tool's answer is said to have.
func (t Tool) WithFields(fields map[string]*jsonschema.Schema) Tool {
	t.output = t.output.CloneSchemas()
	maps.Copy(t.output.Properties, fields)
	return t
}

// Shallow leaves out of what is said of the tool's answer what the items of its lists have.
func (t Tool) Shallow() Tool {
	t.output = shallow(t.output.CloneSchemas())
	return t
}

// described gives the tool as the protocol lists it.
func (t Tool) described() *mcp.Tool {
	return &mcp.Tool{
		Name: t.Name, Description: t.Description, InputSchema: listed(t.input), OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.Reads, DestructiveHint: &t.Destroys, IdempotentHint: t.Reads || t.Repeatable,
			OpenWorldHint: &t.Outside,
		},
	}
}

// require refuses a token whose scopes do not open the tool.
func (t Tool) require(who server.Principal) error {
	if err := who.Require(t.Scopes...); err != nil || len(t.OneOf) == 0 {
		return err
	}

	var missing error
	for _, scope := range t.OneOf {
		if missing = who.Require(scope); missing == nil {
			return nil
		}
	}
	return missing
}

// Part is what one subject adds to the tools. What is nil is nothing.
type Part struct {
	Workload string // whose tools they are; empty: of none
	Tools    []Tool
	Status   *Status // what the tool status shows of it
	// what may be done to one of the workload now, and why not, for the tool explain
	Options func(ctx context.Context, c *Call, id string) ([]Option, error)
	// ends one of the workload, for the tool cancel
	Cancel func(ctx context.Context, c *Call, id string, keepFiles bool) (state string, err error)
}

// Option is an action on a thing, as one caller may take it now or not.
type Option struct {
	Action  string         `json:"action"`
	To      string         `json:"to,omitempty" jsonschema:"the state that it leads to"`
	Allowed bool           `json:"allowed"`
	Code    string         `json:"code,omitempty" jsonschema:"why not"`
	Reason  string         `json:"reason,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// Allowed gives the options of a workload that tells no reasons why others are not allowed.
func Allowed[A ~string](actions []A) []Option {
	options := []Option{}
	for _, action := range actions {
		options = append(options, Option{Action: string(action), Allowed: true})
	}
	return options
}

// Status is what the tool status shows of a part.
type Status struct {
	Name   string // its field in the answer
	Schema *jsonschema.Schema
	Read   func(ctx context.Context, c *Call) (any, error)
}

// NewStatus makes the status of a part. It is read with the scope read. What the items of its lists have, the tools
// that find them tell.
func NewStatus[T any](name string, read func(ctx context.Context, c *Call) (T, error)) *Status {
	return &Status{Name: name, Schema: shallow(outputOf[T]()), Read: func(ctx context.Context, c *Call) (any, error) {
		return read(ctx, c)
	}}
}
