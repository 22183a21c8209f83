package testdb

import (
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// WalkTo takes a locked row to a state by the fewest rules of its table. The test itself makes the rules' changes to
// the row.
func WalkTo[R any, S, A ~string, F any](
	walk *core.Walk[R, S, A, F], table lifecycle.Table[S, A, F], from, to S, step core.Step[S, A],
) error {
	for _, rule := range wayTo(table, from, to) {
		step.Action, step.To, step.Roles = rule.Action, rule.To, rule.Who
		if err := walk.Take(step); err != nil {
			return err
		}
	}
	return nil
}

// wayTo returns the shortest sequence of rules from one state to another.
func wayTo[S, A ~string, F any](table lifecycle.Table[S, A, F], from, to S) []lifecycle.Rule[S, A, F] {
	ways := map[S][]lifecycle.Rule[S, A, F]{from: {}}
	for next := []S{from}; len(next) > 0 && ways[to] == nil; next = next[1:] {
		for _, rule := range table.Rules {
			if _, known := ways[rule.To]; !known && slices.Contains(rule.From, next[0]) {
				ways[rule.To] = append(slices.Clone(ways[next[0]]), rule)
				next = append(next, rule.To)
			}
		}
	}
	return ways[to]
}
