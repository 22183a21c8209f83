// Package about has the tools of no single workload: who the caller is and what there is, the rules, the events, and
// what ends a job.
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

// Part gives these tools. The parts of the workloads give what status, explain and cancel have of them.
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

// you is who calls.
type you struct {
	ID       tool.ID         `json:"id"`
	Role     string          `json:"role"`
	Scopes   []account.Scope `json:"scopes"`
	Tools    []string        `json:"tools"`
	ReadOnly bool            `json:"read_only,omitempty"`
}

// standing is the answer of the tool status: fields of the parts stand beside these.
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
		Description: "Begin here: who you are, which tools you have, what is under way, your workspaces, tasks and jobs.",
	}, func(ctx context.Context, c *tool.Call, _ nothing) (answer tool.Answer[standing], err error) {
		user := c.Who.User
		s := standing{Parts: map[string]any{}, You: you{
			ID: tool.ID(shape.ID(user.ID)), Role: user.Role, Scopes: c.Who.Token.Grants(user.Role), Tools: c.Tools,
			ReadOnly: c.ReadOnly(),
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

// read adds what the parts show.
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
