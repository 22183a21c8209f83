package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// Diagram draws the table for Mermaid: one arrow for all actions that lead from one state to another.
func (t Table[S, A, F]) Diagram() string {
	var arrows []string
	actions := map[string][]string{}
	for _, rule := range t.Rules {
		for _, from := range rule.sources() {
			arrow := fmt.Sprintf("%s --> %s", from, rule.To)
			if actions[arrow] == nil {
				arrows = append(arrows, arrow)
			}
			if !slices.Contains(actions[arrow], string(rule.Action)) {
				actions[arrow] = append(actions[arrow], string(rule.Action))
			}
		}
	}

	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, arrow := range arrows {
		fmt.Fprintf(&b, "  %s: %s\n", arrow, strings.Join(actions[arrow], ", "))
	}

	for _, stage := range t.States {
		if stage.Terminal {
			fmt.Fprintf(&b, "  %s --> [*]\n", stage.State)
		}
	}

	b.WriteString("```\n")
	return b.String()
}

// Markdown lists the states and the rules.
func (t Table[S, A, F]) Markdown() string {
	var b strings.Builder
	b.WriteString("| state | means | left by |\n|---|---|---|\n")
	for _, stage := range t.States {
		leftBy := stage.LeftBy
		if stage.Terminal {
			leftBy = "nobody: it is final"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", stage.State, stage.Means, leftBy)
	}

	b.WriteString("\n| action | from | to | who | guards | event | effect |\n|---|---|---|---|---|---|---|\n")
	for _, rule := range t.Rules {
		var guards []string
		for _, guard := range rule.Guards {
			guards = append(guards, fmt.Sprintf("%s, else `%s`", guard.Name, guard.Code))
		}

		event := "none"
		if rule.Event != "" {
			event = "`" + rule.Event + "`"
		}

		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s | %s |\n", rule.Action,
			strings.Join(rule.sources(), ", "), rule.To, joinRoles(rule.Who), strings.Join(guards, "; "), event, rule.Effect)
	}

	return b.String()
}

func (r Rule[S, A, F]) sources() []string {
	if len(r.From) == 0 {
		return []string{"[*]"}
	}
	var names []string
	for _, from := range r.From {
		names = append(names, string(from))
	}
	return names
}

func joinRoles(roles []Role) string {
	var names []string
	for _, role := range roles {
		names = append(names, string(role))
	}
	return strings.Join(names, " or ")
}
