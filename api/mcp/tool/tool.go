// Package tool is what all tools of the Model Context Protocol share: how a tool is declared, who may call it, how it
// reaches the HTTP API, and what its results and refusals look like.
//
// A tool is a client of the HTTP API in its own process, as a page is: it makes requests as the caller. So it has no
// rules, queries or access checks of its own.
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
	Scopes      []account.Scope // required of the token; none: every token may call it
	OneOf       []account.Scope // the token also needs one of these
	Admins      bool            // for administrators only
	Reads       bool            // changes nothing
	Destroys    bool            // ends or undoes something
	Repeatable  bool            // the same call again changes nothing more
	Outside     bool            // reaches an external system
}

// Answer is a tool's result: a value of the output type, and a sentence about it in our own words.
type Answer[Out any] struct {
	Value   Out
	Summary string
}

type outcome struct {
	value   any
	summary string
}

// New returns a tool. The schemas of its arguments and its result are derived from the types.
func New[In, Out any](about About, do func(ctx context.Context, c *Call, in In) (Answer[Out], error)) Tool {
	t := Tool{About: about, input: inputOf[In](), output: outputOf[Out]()}
	checked, err := t.input.Resolve(nil)
	if err != nil {
		panic(err) // the types are ours
	}
	t.checked = checked
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

// Instead adds to a refusal what the caller may do instead. nil: nothing.
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

// WithFields adds fields to the schema of the tool's result.
func (t Tool) WithFields(fields map[string]*jsonschema.Schema) Tool {
	t.output = t.output.CloneSchemas()
	maps.Copy(t.output.Properties, fields)
	return t
}

// Shallow removes the fields of list items from the schema of the tool's result.
func (t Tool) Shallow() Tool {
	t.output = shallow(t.output.CloneSchemas())
	return t
}

// described returns the tool as the protocol lists it.
func (t Tool) described() *mcp.Tool {
	input := t.input.CloneSchemas()
	walk(input, func(s *jsonschema.Schema) { s.Pattern = "" }) // patterns describe values in results
	return &mcp.Tool{
		Name: t.Name, Description: t.Description, InputSchema: input, OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.Reads, DestructiveHint: &t.Destroys, IdempotentHint: t.Reads || t.Repeatable,
			OpenWorldHint: &t.Outside,
		},
	}
}

// require refuses a token whose scopes do not grant the tool.
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

// Part is what one subject adds to the tools. Every field is optional.
type Part struct {
	Workload string // of which workload; empty: of none
	Tools    []Tool
	Status   *Status // contribution to the tool status
	// the possible actions on an entity of the workload, and why others are not possible, for the tool explain
	Options func(ctx context.Context, c *Call, id string) ([]Option, error)
	// ends an entity of the workload, for the tool cancel
	Cancel func(ctx context.Context, c *Call, id string, keepFiles bool) (state string, err error)
}

// Option is an action on an entity, and whether one caller may take it now.
type Option struct {
	Action  string         `json:"action"`
	To      string         `json:"to,omitempty" jsonschema:"resulting state"`
	Allowed bool           `json:"allowed"`
	Code    string         `json:"code,omitempty" jsonschema:"why not"`
	Reason  string         `json:"reason,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// Allowed converts the options of a workload that gives no reasons for the others.
func Allowed[A ~string](actions []A) []Option {
	options := []Option{}
	for _, action := range actions {
		options = append(options, Option{Action: string(action), Allowed: true})
	}
	return options
}

// Status is a part's contribution to the tool status.
type Status struct {
	Name   string // its field in the result
	Schema *jsonschema.Schema
	Read   func(ctx context.Context, c *Call) (any, error)
}

// NewStatus makes the status of a part. Reading it requires the scope read. The fields of list items are described by
// the tools that find them.
func NewStatus[T any](name string, read func(ctx context.Context, c *Call) (T, error)) *Status {
	return &Status{Name: name, Schema: shallow(outputOf[T]()), Read: func(ctx context.Context, c *Call) (any, error) {
		return read(ctx, c)
	}}
}
