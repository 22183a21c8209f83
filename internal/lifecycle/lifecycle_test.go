package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// door is a small state machine for the tests: knocking opens it for guests, forcing for anyone but the owner.
var door = Table[string, string, bool]{
	Entity: "door",
	States: []State[string]{
		{State: "shut", Means: "nobody passes", LeftBy: "a guest"},
		{State: "open", Means: "all pass"},
		{State: "broken", Means: "no door", Terminal: true},
	},
	Rules: []Rule[string, string, bool]{
		{Action: "build", To: "shut", Who: []Role{Owner}, Event: "built"},
		{
			Action: "knock", From: []string{"shut"}, To: "open", Who: []Role{"guest"}, Event: "opened",
			Guards: []Guard[bool]{
				{Name: "somebody is at home", Code: "NOBODY_HOME", Holds: func(atHome bool) bool { return atHome }},
			},
		},
		{Action: "force", From: []string{"shut", "open"}, To: "broken", Who: []Role{"guest"}, Denied: "OWN_DOOR", Event: "broken"},
		{Action: "turn", From: []string{"shut"}, To: "open", Who: []Role{Owner}, Event: "turned"},
		{Action: "turn", From: []string{"open"}, To: "shut", Who: []Role{Owner}, Event: "turned"},
		{Action: "oil", From: []string{"open", "shut"}, Who: []Role{"smith"}, Event: "oiled"},
	},
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, action, to string
		role             Role
		atHome           bool
		want             string
		code             fault.Code
	}{
		"created":                        {"", "build", "", Owner, false, "shut", ""},
		"not created twice":              {"shut", "build", "", Owner, false, "", fault.InvalidTransition},
		"allowed":                        {"shut", "knock", "", "guest", true, "open", ""},
		"impossible comes before who":    {"open", "knock", "", Owner, true, "", fault.InvalidTransition},
		"who comes before guards":        {"shut", "knock", "", Owner, false, "", fault.InsufficientAccess},
		"a guard's own code":             {"shut", "knock", "", "guest", false, "", "NOBODY_HOME"},
		"a rule's own refusal":           {"shut", "force", "", Owner, false, "", "OWN_DOOR"},
		"one action, two ways":           {"open", "turn", "", Owner, false, "shut", ""},
		"the target chooses":             {"shut", "turn", "open", Owner, false, "open", ""},
		"a target that is not to be had": {"shut", "turn", "shut", Owner, false, "", fault.InvalidTransition},
		"the state stays":                {"open", "oil", "", "smith", false, "open", ""},
		"it stays, and nothing else":     {"open", "oil", "shut", "smith", false, "", fault.InvalidTransition},
		"nothing leaves an end":          {"broken", "force", "", "guest", false, "", fault.InvalidTransition},
		"an unknown action":              {"shut", "paint", "", Owner, false, "", fault.InvalidTransition},
	} {
		rule, err := door.Decide(c.from, Request[string, string]{Action: c.action, To: c.to, Roles: []Role{c.role}}, c.atHome)
		if rule.To != c.want || fault.CodeOf(err) != c.code {
			t.Errorf("%s: got %q and %v, want %q and %q", name, rule.To, err, c.want, c.code)
		}
	}
}

// TestWhichRefusal has several possible rules: a caller for whom there is none is refused by the first, everyone else
// by the first one for them.
func TestWhichRefusal(t *testing.T) {
	t.Parallel()
	never := func(code fault.Code) []Guard[bool] {
		return []Guard[bool]{{Name: "never", Code: code, Holds: func(bool) bool { return false }}}
	}

	table := Table[string, string, bool]{Rules: []Rule[string, string, bool]{
		{Action: "go", From: []string{"here"}, To: "there", Who: []Role{Owner}, Guards: never("OWNERS_FIRST"), Denied: "OWNERS"},
		{Action: "go", From: []string{"here"}, To: "there", Who: []Role{Admin}, Guards: never("ADMINS"), Denied: "NO_ADMIN"},
		{Action: "go", From: []string{"here"}, To: "there", Who: []Role{Owner}, Guards: never("OWNERS_SECOND"), Denied: "OWNERS"},
	}}

	for want, roles := range map[fault.Code][]Role{
		"OWNERS": {"guest"}, "OWNERS_FIRST": {Owner}, "ADMINS": {Admin},
	} {
		if _, err := table.Decide("here", Request[string, string]{Action: "go", Roles: roles}, true); fault.CodeOf(err) != want {
			t.Errorf("%v: %v, want %s", roles, err, want)
		}
	}
}

// TestImpossible names the actions that are possible instead, or the states if a state was requested.
func TestImpossible(t *testing.T) {
	t.Parallel()
	_, err := door.Decide("open", Request[string, string]{Action: "build", Roles: []Role{Owner}}, true)
	if got := fault.As(err).Details; got["current"] != "open" || got["requested"] != "build" || fmt.Sprint(got["allowed"]) != "[turn]" {
		t.Errorf("an action: %v", got)
	}
	_, err = door.Decide("open", Request[string, string]{Action: "turn", To: "broken", Roles: []Role{Owner}}, true)
	if got := fault.As(err).Details; got["current"] != "open" || got["requested"] != "broken" || fmt.Sprint(got["allowed"]) != "[shut]" {
		t.Errorf("a state: %v", got)
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	if got := strings.Join(door.Actions("shut", []Role{"guest"}, false), " "); got != "force" {
		t.Errorf("a guest may %q", got)
	}
	if got := strings.Join(door.Actions("shut", []Role{"guest", Owner}, true), " "); got != "knock force turn" {
		t.Errorf("an owner who is a guest may %q", got)
	}
	if got := door.Actions("broken", []Role{"guest", Owner}, true); got == nil || len(got) > 0 {
		t.Errorf("after the end: %#v, want an empty list", got)
	}
}

// TestLeaves checks transitions decided earlier: state, event and target must belong to one rule.
func TestLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to, event string
		want            bool
	}{
		{"shut", "open", "opened", true},
		{"shut", "open", "turned", true},
		{"open", "shut", "turned", true},
		{"", "shut", "built", true},
		{"open", "open", "oiled", true},
		{"open", "shut", "oiled", false}, // the state stays
		{"open", "broken", "broken", true},
		{"shut", "open", "built", false},     // another rule's event
		{"shut", "shut", "opened", false},    // another target
		{"broken", "open", "opened", false},  // another state
		{"shut", "open", "", false},          // no event
		{"nowhere", "shut", "turned", false}, // no state
	} {
		if got := door.Leaves(c.from, c.to, c.event); got != c.want {
			t.Errorf("%q to %q with %q: %t, want %t", c.from, c.to, c.event, got, c.want)
		}
	}
}

// TestLiveAndEnded divides the states.
func TestLiveAndEnded(t *testing.T) {
	t.Parallel()
	if live, ended := door.Live(), door.Ended(); !slices.Equal(live, []string{"shut", "open"}) || !slices.Equal(ended, []string{"broken"}) {
		t.Errorf("live %v, ended %v", live, ended)
	}
}
