package lifecycle

import (
	"cmp"
	"slices"
	"testing"
)

// TestTables checks for each workload's table what must hold in any table.
func TestTables(t *testing.T) {
	t.Parallel()
	checks := map[string]func(*testing.T){
		WorkloadDelivery: func(t *testing.T) {
			checkTable(t, Delivery, deliveryStates, []Role{Owner, Admin, System}, deliveryAllFacts())
		},
		WorkloadTask: func(t *testing.T) {
			checkTable(t, Task, TaskStates, []Role{Creator, Assignee, Anyone, Others, System}, taskAllFacts())
		},
		WorkloadDownload: func(t *testing.T) {
			checkTable(t, Download, downloadStates, []Role{Owner, Admin, System}, downloadAllFacts())
		},
		WorkloadTransaction: func(t *testing.T) {
			checkTable(t, Transaction, transactionStates, []Role{Admin, System}, transactionAllFacts())
		},
	}

	for _, name := range Names() {
		if checks[name] == nil {
			t.Errorf("nothing is asked of the table of %s", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks[name](t)
		})
	}
}

func deliveryAllFacts() (all []DeliveryFacts) {
	for attempt := range DeliveryTries + 1 {
		all = append(all, DeliveryFacts{attempt, false}, DeliveryFacts{attempt, true})
	}
	return all
}

func downloadAllFacts() []DownloadFacts {
	var all []DownloadFacts
	for bits := range 8 {
		all = append(all, DownloadFacts{UserActive: bits&1 > 0, MediaReady: bits&2 > 0, ImportFailed: bits&4 > 0})
	}
	return all
}

func taskAllFacts() (all []TaskFacts) {
	holder := int64(1)
	for bits := range 64 {
		f := TaskFacts{Public: bits&1 > 0, ReviewMissing: bits&16 > 0}
		if bits&2 > 0 {
			f.AssigneeID = &holder
		}

		if bits&4 > 0 {
			f.OpenBlockers = []int64{2}
		}

		if bits&8 > 0 {
			f.Comment = "because"
		}

		if bits&32 > 0 {
			f.Submission, f.Named = 9, 9
		}

		all = append(all, f)
	}

	return all
}

// checkTable gets what the table does not contain: the recorded states, the roles that callers can have, and all facts.
func checkTable[S, A ~string, F any](t *testing.T, table Table[S, A, F], states []S, roles []Role, facts []F) {
	t.Helper()
	checkStates(t, table, states)
	checkRules(t, table, states, roles)
	checkNoOverlap(t, table)
	checkWays(t, table, states)
	checkEveryRuleApplies(t, table, facts)
	checkOffers(t, table, states, facts)
}

// checkStates compares the documented states with the recorded ones.
func checkStates[S, A ~string, F any](t *testing.T, table Table[S, A, F], states []S) {
	t.Helper()
	var documented []S
	for _, state := range table.States {
		documented = append(documented, state.State)
		if state.Means == "" || (state.LeftBy == "") != state.Terminal {
			t.Errorf("%s is not explained", state.State)
		}
	}

	if !slices.Equal(documented, states) {
		t.Errorf("documented %v, recorded %v", documented, states)
	}
}

// checkRules checks the form of each rule.
func checkRules[S, A ~string, F any](t *testing.T, table Table[S, A, F], states []S, roles []Role) {
	t.Helper()
	for _, rule := range table.Rules {
		stays := rule.To == "" && len(rule.From) > 0 && rule.Event != ""
		if rule.Action == "" || len(rule.Who) == 0 || !slices.Contains(states, rule.To) && !stays {
			t.Errorf("%s to %s: who does what is not said", rule.Action, rule.To)
		}
		if slices.ContainsFunc(rule.Who, func(role Role) bool { return !slices.Contains(roles, role) }) {
			t.Errorf("%s is for %v: nobody has one of these roles", rule.Action, rule.Who)
		}

		for i, from := range rule.From {
			if !slices.Contains(states, from) || slices.Contains(rule.From[:i], from) {
				t.Errorf("%s from %s: no such state, or twice", rule.Action, from)
			}
		}

		for _, guard := range rule.Guards {
			if guard.Name == "" || guard.Code == "" || guard.Holds == nil {
				t.Errorf("%s has a guard that says nothing: %+v", rule.Action, guard)
			}
		}

		if rule.Event == "" && !slices.Equal(rule.From, []S{rule.To}) {
			t.Errorf("%s leads to %s without an event", rule.Action, rule.To)
		}
	}
}

// checkNoOverlap makes sure that at most one rule leads from one state to another for an action and a role.
func checkNoOverlap[S, A ~string, F any](t *testing.T, table Table[S, A, F]) {
	t.Helper()
	type step struct {
		action   A
		from, to S
		role     Role
	}

	seen := map[step]bool{}
	for _, rule := range table.Rules {
		for _, from := range rule.From {
			for _, role := range rule.Who {
				s := step{rule.Action, from, rule.To, role}
				if seen[s] {
					t.Errorf("two rules for %+v", s)
				}
				seen[s] = true
			}
		}
	}
}

// checkWays follows the rules: each state is reachable from the beginning, each non-terminal one leads to an end, and
// an end leads nowhere else.
func checkWays[S, A ~string, F any](t *testing.T, table Table[S, A, F], states []S) {
	t.Helper()
	next := map[S][]S{}
	for _, rule := range table.Rules {
		from := rule.From
		if len(from) == 0 {
			from = []S{""}
		}
		for _, state := range from {
			next[state] = append(next[state], cmp.Or(rule.To, state))
		}
	}

	fromBeginning := reach(next, "")
	for _, state := range states {
		if !slices.Contains(fromBeginning, state) {
			t.Errorf("%s is never reached", state)
		}
		switch ways := reach(next, state); {
		case table.Terminal(state) && slices.ContainsFunc(ways, func(to S) bool { return to != state }):
			t.Errorf("%s is an end and leads to %v", state, ways)
		case !slices.ContainsFunc(append(ways, state), table.Terminal):
			t.Errorf("%s leads to no end", state)
		}
	}
}

// reach lists the states that can follow a state, at once or later.
func reach[S ~string](next map[S][]S, from S) []S {
	var seen []S
	for open := slices.Clone(next[from]); len(open) > 0; open = open[1:] {
		if !slices.Contains(seen, open[0]) {
			seen = append(seen, open[0])
			open = append(open, next[open[0]]...)
		}
	}
	return seen
}

// checkEveryRuleApplies finds a caller and facts for each rule, so that no rule is shadowed by another.
func checkEveryRuleApplies[S, A ~string, F any](t *testing.T, table Table[S, A, F], facts []F) {
	t.Helper()
	for i, rule := range table.Rules {
		from := append(slices.Clone(rule.From), "")[0]
		applies := func(role Role, fact F) bool {
			got, err := table.Decide(from, Request[S, A]{Action: rule.Action, To: rule.To, Roles: []Role{role}}, fact)
			return err == nil && slices.Equal(
				got.From, rule.From,
			) && slices.Equal(got.Who, rule.Who) && got.Event == rule.Event && got.Effect == rule.Effect
		}
		if !slices.ContainsFunc(rule.Who, func(role Role) bool {
			return slices.ContainsFunc(facts, func(fact F) bool { return applies(role, fact) })
		}) {
			t.Errorf("rule %d never applies: %s from %v to %s", i+1, rule.Action, rule.From, rule.To)
		}
	}
}

// checkOffers compares what a caller is offered with what is then decided, for every state × role × facts.
func checkOffers[S, A ~string, F any](t *testing.T, table Table[S, A, F], states []S, facts []F) {
	t.Helper()
	roles := []Role{"stranger"}
	var actions []A
	for _, rule := range table.Rules {
		roles, actions = append(roles, rule.Who...), append(actions, rule.Action)
	}

	slices.Sort(roles)
	slices.Sort(actions)
	roles, actions = slices.Compact(roles), slices.Compact(actions)

	for _, from := range append([]S{""}, states...) {
		for _, role := range roles {
			for _, fact := range facts {
				who := []Role{role}
				offered := table.Actions(from, who, fact)
				for _, action := range actions {
					rule, err := table.Decide(from, Request[S, A]{Action: action, Roles: who}, fact)
					if changes := err == nil && rule.Event != ""; changes != slices.Contains(offered, action) {
						t.Errorf("%s: %s to %s, with %+v: offered %v, decided %v", from, role, action, fact, offered, err)
					}

					targets := table.Targets(from, action, who, fact)
					for _, to := range states {
						rule, err := table.Decide(from, Request[S, A]{Action: action, To: to, Roles: who}, fact)
						if changes := err == nil && rule.Event != ""; changes != slices.Contains(targets, to) {
							t.Errorf("%s: %s to %s to %s, with %+v: offered %v, decided %v", from, role, action, to, fact, targets, err)
						}
					}
				}
			}
		}
	}
}

// TestEvents pins the types of events, known to the record, the API and its clients. A task's are with its cases.
func TestEvents(t *testing.T) {
	t.Parallel()
	checkEvents(t, Delivery, map[DeliveryAction]string{
		"enqueue": "enqueued", "claim": "claimed", "start_download": "download_started", "stream": "streaming_started",
		"acknowledge": "delivered", "find_delivered": "delivered", "requeue": "requeued", "hand_over": "requeued", "fail": "failed", "cancel": "cancelled", "expire": "expired",
	})
	checkEvents(t, Download, map[DownloadAction]string{
		"enqueue": "enqueued", "begin": "started", "complete": "completed", "fail": "failed", "cancel": "canceled", "retry_import": "import_retried",
	})
	checkEvents(t, Transaction, map[TransactionAction]string{
		"detect": "detected", "lock": "locked", "buy": "payment_signed", "refund": "payment_signed", "finish": "processed", "fail": "failed", "retry": "retried", "review": "needs_review",
		"resolve": "resolved", "write_off": "written_off",
	})
}

func checkEvents[S, A ~string, F any](t *testing.T, table Table[S, A, F], events map[A]string) {
	t.Helper()
	for action := range events {
		if !slices.ContainsFunc(table.Rules, func(rule Rule[S, A, F]) bool { return rule.Action == action }) {
			t.Errorf("%s: no rule for %s", table.Entity, action)
		}
	}

	for _, rule := range table.Rules {
		if want, known := events[rule.Action]; !known || rule.Event != want {
			t.Errorf("%s: %s leaves %q, want %q", table.Entity, rule.Action, rule.Event, want)
		}
	}
}
