// Package about has the tools that belong to no workload: the caller and an overview, the rules, the events, and the
// one that cancels jobs.
package about

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/google/jsonschema-go/jsonschema"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

// Part returns these tools. The workloads' parts contribute to status, explain and cancel.
func Part(workloads ...tool.Part) tool.Part {
	fields := map[string]*jsonschema.Schema{}
	for _, part := range workloads {
		if part.Status != nil {
			fields[part.Status.Name] = part.Status.Schema
		}
	}

	return tool.Part{Tools: []tool.Tool{
		status(workloads).WithFields(fields), wait(), explain(workloads), cancel(workloads),
	}}
}

type nothing struct{}

// you is the caller.
type you struct {
	ID     tool.ID         `json:"id"`
	Role   string          `json:"role"`
	Scopes []account.Scope `json:"scopes"`
	Tools  []string        `json:"tools"`
}

// standing is the result of the tool status: the parts' fields are siblings of these.
type standing struct {
	You   you                         `json:"you"`
	Live  map[string]map[string]int64 `json:"live,omitempty" jsonschema:"by workload and state"`
	Parts map[string]any              `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (s standing) MarshalJSON() ([]byte, error) {
	fields := map[string]any{"you": s.You}
	if s.Live != nil {
		fields["live"] = s.Live
	}
	maps.Copy(fields, s.Parts)
	return json.Marshal(fields)
}

func status(workloads []tool.Part) tool.Tool {
	return tool.New(tool.About{
		Name: "status", Reads: true,
		Description: "Start here: who you are, your tools, work in progress, your workspaces, tasks and jobs.",
	}, func(ctx context.Context, c *tool.Call, _ nothing) (answer tool.Answer[standing], err error) {
		user := c.Who.User
		s := standing{Parts: map[string]any{}, You: you{
			ID: tool.ID(shape.ID(user.ID)), Role: user.Role, Scopes: c.Who.Token.Grants(user.Role), Tools: c.Tools,
		}}

		if c.Grants(account.ScopeRead) {
			overview, err := tool.Get[shape.Overview](ctx, c, "/v1/overview", nil)
			if err != nil {
				return answer, err
			}
			s.Live = overview.Live
			if err := read(ctx, c, workloads, s.Parts); err != nil {
				return answer, err
			}
		}

		return tool.Answer[standing]{Value: s, Summary: fmt.Sprintf(
			"You are user %s (%s) with %d tools.", s.You.ID, user.Role, len(c.Tools),
		)}, nil
	})
}

// read adds the parts' fields.
func read(ctx context.Context, c *tool.Call, workloads []tool.Part, fields map[string]any) error {
	for _, part := range workloads {
		if part.Status == nil {
			continue
		}
		shown, err := part.Status.Read(ctx, c)
		if err != nil {
			return err
		}
		fields[part.Status.Name] = shown
	}

	return nil
}
