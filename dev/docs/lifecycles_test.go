package main

import (
	"strings"
	"testing"

	"stagecoach/internal/lifecycle"
)

// door is a small state machine for this test.
var door = lifecycle.Table[string, string, any]{
	Entity: "door",
	States: []lifecycle.State[string]{
		{State: "shut", Means: "nobody passes", LeftBy: "a guest"},
		{State: "open", Means: "all pass"},
		{State: "broken", Means: "no door", Terminal: true},
	},
	Rules: []lifecycle.Rule[string, string, any]{
		{Action: "build", To: "shut", Who: []lifecycle.Role{lifecycle.Owner}, Event: "built"},
		{
			Action: "knock", From: []string{"shut"}, To: "open", Who: []lifecycle.Role{"guest"}, Event: "opened",
			Guards: []lifecycle.Guard[any]{{Name: "somebody is at home", Code: "NOBODY_HOME"}},
		},
		{Action: "force", From: []string{"shut", "open"}, To: "broken", Who: []lifecycle.Role{"guest"}, Event: "broken"},
	},
}

// TestTables checks the generated diagrams and tables.
func TestTables(t *testing.T) {
	t.Parallel()
	for of, table := range map[*lifecycle.Table[string, string, any]][]string{
		&door: {
			"[*] --> shut: build", "open --> broken: force", "broken --> [*]",
			"| `broken` | no door | nobody: it is final |", "somebody is at home, else `NOBODY_HOME`",
		},
		new(lifecycle.Transaction.Plain()): {
			"processing --> failed: fail", "processed --> [*]", "failed --> processing: retry", "`needs_review`",
		},
	} {
		text := diagram(*of) + rulesTable(*of)
		for _, want := range table {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
}
