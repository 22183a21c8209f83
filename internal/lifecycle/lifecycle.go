// Package lifecycle has each workload's table of rules, and one function that decides whether an action is allowed in a
// state, for which roles, and to which state it leads. It does no I/O and is deterministic, so that workflows,
// activities, API, bot, documents and tests can share the tables.
package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"stagecoach/internal/fault"
)

// Role is a caller's relation to an entity: "owner", "admin", "system". A caller may have several.
type Role string

// Roles known to every workload.
const (
	System Role = "system" // the program itself: a worker, a timer, the reconciler
	Owner  Role = "owner"  // the owner of the entity
	Admin  Role = "admin"  // an administrator, or an operator using the temporal CLI
)

// systemOnly is the Who of a rule that no person can use.
var systemOnly = []Role{System}

// Guard is a condition on the entity's facts. Code is the refusal if it does not hold.
type Guard[F any] struct {
	Name  string
	Code  fault.Code
	Holds func(F) bool
}

// Rule is one row of a table: this action leads from one of these states to that one.
type Rule[S, A ~string, F any] struct {
	Action A
	From   []S // empty: the action creates the entity
	To     S   // empty: the state stays as it is
	Who    []Role
	Guards []Guard[F]
	// the type of the transition's event; empty: the action is accepted but changes nothing
	Event  string
	Denied fault.Code // the refusal for a caller not in Who; empty: INSUFFICIENT_ACCESS
	Effect string     // what else happens, for the documentation
}

// State documents one state: its meaning, and what leaves it.
type State[S ~string] struct {
	State    S
	Means    string
	LeftBy   string
	Terminal bool
}

// Table is a workload's rules. S is its state type, A its action type, F the facts that its guards check.
type Table[S, A ~string, F any] struct {
	Entity string
	States []State[S]
	Rules  []Rule[S, A, F]
}

// Request is what a caller wants. To selects among the rules of one action that lead to different states; empty: any.
type Request[S, A ~string] struct {
	Action A
	To     S
	Roles  []Role
}

// Decide returns the rule that applies to req in state from. Refusals come in a fixed order: impossible transition
// (INVALID_TRANSITION with the current state and the allowed actions), then roles, then guards in the rule's order. If
// several rules are possible, the first one for the caller's roles determines the refusal.
func (t Table[S, A, F]) Decide(from S, req Request[S, A], facts F) (Rule[S, A, F], error) {
	var refusal error
	forCaller := false
	for _, rule := range t.rulesAt(from) {
		if rule.Action != req.Action || (req.To != "" && rule.To != req.To) {
			continue
		}
		err := rule.admits(req.Roles, facts)
		if err == nil {
			return rule, nil
		}
		if refusal == nil || !forCaller && rule.isFor(req.Roles) {
			refusal, forCaller = err, rule.isFor(req.Roles)
		}
	}

	if refusal == nil {
		requested, allowed := string(req.Action), any(t.Actions(from, req.Roles, facts))
		if req.To != "" {
			requested, allowed = string(req.To), t.Targets(from, req.Action, req.Roles, facts)
		}
		refusal = fault.New(fault.InvalidTransition, "%s is %s: %s is not possible now", t.Entity, from, requested).
			With("current", from).With("requested", requested).With("allowed", allowed)
	}
	return Rule[S, A, F]{}, refusal
}

// Allowed lists the rules by which a caller with these roles may currently change something, in the table's order.
func (t Table[S, A, F]) Allowed(from S, roles []Role, facts F) []Rule[S, A, F] {
	var allowed []Rule[S, A, F]
	for _, rule := range t.rulesAt(from) {
		if rule.Event != "" && rule.admits(roles, facts) == nil {
			allowed = append(allowed, rule)
		}
	}
	return allowed
}

// Actions lists the actions of Allowed without duplicates.
func (t Table[S, A, F]) Actions(from S, roles []Role, facts F) []A {
	actions := []A{}
	for _, rule := range t.Allowed(from, roles, facts) {
		if !slices.Contains(actions, rule.Action) {
			actions = append(actions, rule.Action)
		}
	}
	return actions
}

// Targets lists the states to which an action may currently lead, in the table's order.
func (t Table[S, A, F]) Targets(from S, action A, roles []Role, facts F) []S {
	targets := []S{}
	for _, rule := range t.Allowed(from, roles, facts) {
		if rule.Action == action && !slices.Contains(targets, rule.To) {
			targets = append(targets, rule.To)
		}
	}
	return targets
}

// Leaves reports whether a rule leads from one state to another with this event. It checks a transition decided
// earlier.
func (t Table[S, A, F]) Leaves(from, to S, event string) bool {
	return slices.ContainsFunc(t.rulesAt(from), func(r Rule[S, A, F]) bool {
		return event != "" && r.Event == event && r.To == to
	})
}

// rulesAt lists the rules that apply in a state, each with its resulting state.
func (t Table[S, A, F]) rulesAt(from S) (rules []Rule[S, A, F]) {
	for _, rule := range t.Rules {
		if slices.Contains(rule.From, from) || len(rule.From) == 0 && from == "" {
			rule.To = cmp.Or(rule.To, from)
			rules = append(rules, rule)
		}
	}
	return rules
}

// Terminal reports whether no rule leads out of state.
func (t Table[S, A, F]) Terminal(state S) bool {
	return slices.ContainsFunc(t.States, func(s State[S]) bool { return s.State == state && s.Terminal })
}

// Live lists the non-terminal states, in the table's order.
func (t Table[S, A, F]) Live() []S { return t.statesWhere(false) }

// Ended lists the terminal states, in the table's order.
func (t Table[S, A, F]) Ended() []S { return t.statesWhere(true) }

func (t Table[S, A, F]) statesWhere(terminal bool) (states []S) {
	for _, s := range t.States {
		if s.Terminal == terminal {
			states = append(states, s.State)
		}
	}
	return states
}

func (r Rule[S, A, F]) isFor(roles []Role) bool {
	return slices.ContainsFunc(roles, func(role Role) bool { return slices.Contains(r.Who, role) })
}

func (r Rule[S, A, F]) admits(roles []Role, facts F) error {
	if !r.isFor(roles) {
		code := r.Denied
		if code == "" {
			code = fault.InsufficientAccess
		}
		return fault.New(code, "%s to %s is for: %s", r.Action, r.To, JoinRoles(r.Who))
	}

	for _, guard := range r.Guards {
		if !guard.Holds(facts) {
			return fault.New(guard.Code, "%s needs: %s", r.Action, guard.Name)
		}
	}
	return nil
}

// JoinRoles joins roles for a sentence.
func JoinRoles(roles []Role) string { return strings.Join(texts(roles), " or ") }

func texts[T ~string](all []T) (plain []string) {
	for _, text := range all {
		plain = append(plain, string(text))
	}
	return plain
}
