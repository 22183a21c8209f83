package main

import (
	"fmt"
	"slices"
	"strings"

	"stagecoach/internal/lifecycle"
)

type (
	table = lifecycle.Table[string, string, any]
	rule  = lifecycle.Rule[string, string, any]
)

// diagram draws a table for Mermaid: one arrow for all actions that lead from one state to another. Rules that do not
// change the state are only in the table.
func diagram(t table) string {
	var arrows []string
	actions := map[string][]string{}
	for _, rule := range t.Rules {
		if rule.To == "" {
			continue
		}
		for _, from := range sources(rule) {
			arrow := fmt.Sprintf("%s --> %s", from, rule.To)
			if actions[arrow] == nil {
				arrows = append(arrows, arrow)
			}
			if !slices.Contains(actions[arrow], rule.Action) {
				actions[arrow] = append(actions[arrow], rule.Action)
			}
		}
	}

	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, arrow := range arrows {
		fmt.Fprintf(&b, "  %s: %s\n", arrow, strings.Join(actions[arrow], ", "))
	}

	for _, state := range t.States {
		if state.Terminal {
			fmt.Fprintf(&b, "  %s --> [*]\n", state.State)
		}
	}

	b.WriteString("```\n")
	return b.String()
}

// rulesTable lists the states and the rules of a table.
func rulesTable(t table) string {
	var b strings.Builder
	b.WriteString("| state | means | left by |\n|---|---|---|\n")
	for _, state := range t.States {
		leftBy := state.LeftBy
		if state.Terminal {
			leftBy = "nobody: it is final"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", state.State, state.Means, leftBy)
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

		to := "as it is"
		if rule.To != "" {
			to = "`" + rule.To + "`"
		}

		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", rule.Action,
			strings.Join(sources(rule), ", "), to, lifecycle.JoinRoles(rule.Who), strings.Join(guards, "; "), event, rule.Effect)
	}

	return b.String()
}

// sources are the states that a rule leads from. "[*]" is Mermaid's name for the initial state.
func sources(r rule) []string {
	if len(r.From) == 0 {
		return []string{"[*]"}
	}
	return r.From
}
