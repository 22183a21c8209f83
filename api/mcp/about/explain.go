package about

import (
	"context"
	"fmt"
	"slices"

	"stagecoach/api/mcp/tool"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// workload names a workload.
type workload string

var _ = tool.Enum(workloadNames()...)

func workloadNames() (names []workload) {
	for _, name := range lifecycle.Names() {
		names = append(names, workload(name))
	}
	return names
}

type question struct {
	Workload workload `json:"workload"`
	ID       string   `json:"id,omitempty" jsonschema:"of an entity: what you may do to it now, and why not"`
}

type explanation struct {
	Options []tool.Option `json:"options,omitempty" jsonschema:"of the entity"`
	States  []state       `json:"states,omitempty"`
	Rules   []rule        `json:"rules,omitempty"`
}

type state struct {
	State string `json:"state"`
	Means string `json:"means"`
	Ended bool   `json:"ended,omitempty"`
}

type rule struct {
	Action string   `json:"action"`
	From   []string `json:"from,omitempty"`
	To     string   `json:"to"`
	Who    string   `json:"who"`
	Needs  []string `json:"needs,omitempty" jsonschema:"each with its refusal code"`
	Effect string   `json:"effect,omitempty"`
}

func explain(workloads []tool.Part) tool.Tool {
	return tool.New(tool.About{
		Name: "explain", Reads: true,
		Description: "The states and rules of a workload; with an id, what you may do to that entity now and why other " +
			"actions are refused.",
	}, func(ctx context.Context, c *tool.Call, in question) (answer tool.Answer[explanation], err error) {
		if in.ID == "" {
			return rulesOf(string(in.Workload)), nil
		}

		part, err := partOf(workloads, in.Workload, func(p tool.Part) bool { return p.Options != nil })
		if err != nil {
			return answer, err
		}

		options, err := part.Options(ctx, c, in.ID)
		allowed := 0
		for _, option := range options {
			if option.Allowed {
				allowed++
			}
		}

		return tool.Answer[explanation]{
			Value:   explanation{Options: options},
			Summary: fmt.Sprintf("%d of %d actions are allowed now.", allowed, len(options)),
		}, err
	})
}

// partOf returns the part of a workload that has a capability.
func partOf(workloads []tool.Part, name workload, can func(tool.Part) bool) (tool.Part, error) {
	at := slices.IndexFunc(workloads, func(p tool.Part) bool { return p.Workload == string(name) && can(p) })
	if at < 0 {
		return tool.Part{}, fault.Invalid("workload", "this is not possible for a %s", name)
	}
	return workloads[at], nil
}

// rulesOf returns a workload's state table.
func rulesOf(name string) tool.Answer[explanation] {
	at := slices.IndexFunc(lifecycle.Workloads, func(w lifecycle.Workload) bool { return w.Name == name })
	table := lifecycle.Workloads[at].Table.Plain() // the schema allows no other names

	var e explanation
	for _, s := range table.States {
		e.States = append(e.States, state{s.State, s.Means, s.Terminal})
	}

	for _, r := range table.Rules {
		shown := rule{Action: r.Action, From: r.From, To: r.To, Who: lifecycle.JoinRoles(r.Who), Effect: r.Effect}
		for _, guard := range r.Guards {
			shown.Needs = append(shown.Needs, fmt.Sprintf("%s (%s)", guard.Name, guard.Code))
		}
		e.Rules = append(e.Rules, shown)
	}

	return tool.Answer[explanation]{
		Value: e, Summary: fmt.Sprintf("A %s has %d states and %d rules.", name, len(e.States), len(e.Rules)),
	}
}
