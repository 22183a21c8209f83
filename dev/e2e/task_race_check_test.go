package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// raceCall is one request about a task that was free initially: a claim by an agent or, without one, a query of its
// holder.
type raceCall struct{ agent string }

// raceTold is the content of the answer: the holder at that moment, "" for none.
type raceTold struct {
	holder  string
	unknown bool // no answer, or one without the outcome
}

// neverReturns is the return time of a call without an answer: it may take effect at any time after the call, even
// later than everything that is known.
const neverReturns = math.MaxInt64

// claiming is the specification of claims: the first one gets the task, and all later ones are refused with its holder.
var claiming = porcupine.Model{
	Init: func() any { return "" },
	Step: func(holder, call, told any) (bool, any) {
		holder = cmp.Or(holder.(string), call.(raceCall).agent)
		answer := told.(raceTold)
		return answer.unknown || answer.holder == holder, holder
	},
}

// verdict is the result of the check of a task's history.
type verdict struct {
	winners []string // the agents whose claims succeeded
	// order says whether there is an order of the calls, each between its call and its return, that explains every answer.
	// Unknown: searching a wrong history, in which many seem to have held the task, can take forever.
	order porcupine.CheckResult
}

func judge(history []porcupine.Operation) verdict {
	var v verdict
	for _, op := range history {
		call, told := op.Input.(raceCall), op.Output.(raceTold)
		if call.agent != "" && told.holder == call.agent && !slices.Contains(v.winners, call.agent) {
			v.winners = append(v.winners, call.agent)
		}
	}
	v.order = porcupine.CheckOperationsTimeout(claiming, binding(history), time.Minute)
	return v
}

// binding omits operations that cannot make a history wrong, because the search would try every subset of them. A task
// stays taken. Of the calls that change nothing and report the same holder, the one that returned first is the
// strongest. Of those that report no holder, it is the one that was made last. Of an agent's claims without an answer,
// which may take effect at any time after they were made, it is the first. Such a claim by an agent whom no answer
// names had no visible effect and can be ordered after everything else.
func binding(history []porcupine.Operation) (binds []porcupine.Operation) {
	type kind struct {
		told  raceTold
		agent string // of a claim without an answer
	}

	named, tightest, bounds := map[string]bool{}, map[kind]porcupine.Operation{}, map[kind]int64{}
	for _, op := range history {
		named[op.Output.(raceTold).holder] = true
	}

	for _, op := range history {
		call, told := op.Input.(raceCall), op.Output.(raceTold)
		like, bound := kind{told: told}, int64(0) // the smaller, the stricter
		switch {
		case told.unknown && !named[call.agent]:
			continue
		case told.unknown:
			like.agent, bound = call.agent, op.Call
		case told.holder == "" && call.agent == "":
			bound = -op.Call
		case told.holder != "" && told.holder != call.agent:
			bound = op.Return
		default: // it is won, or invalid
			binds = append(binds, op)
			continue
		}

		if _, found := tightest[like]; !found || bound < bounds[like] {
			tightest[like], bounds[like] = op, bound
		}
	}

	return slices.AppendSeq(binds, maps.Values(tightest))
}

// describe lists a history in the order of its calls, times in milliseconds.
func describe(history []porcupine.Operation) string {
	history = slices.SortedFunc(
		slices.Values(history), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) },
	)

	var text strings.Builder
	for _, op := range history {
		call, told := op.Input.(raceCall), op.Output.(raceTold)
		fmt.Fprintf(&text, "%10.3f ", float64(op.Call)/1e6)
		if told.unknown {
			fmt.Fprintf(&text, "          … agent %s claims, and gets no answer\n", call.agent)
			continue
		}
		fmt.Fprintf(&text, "– %10.3f agent %q is told that %q has it\n", float64(op.Return)/1e6, call.agent, told.holder)
	}

	return text.String()
}

// TestRaceJudge shows which histories the check accepts and which it refuses.
func TestRaceJudge(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, agent, holder string) porcupine.Operation {
		return porcupine.Operation{Input: raceCall{agent}, Call: from, Output: raceTold{holder: holder}, Return: to}
	}

	unknown := func(from int64, agent string) porcupine.Operation {
		return porcupine.Operation{Input: raceCall{agent}, Call: from, Output: raceTold{unknown: true}, Return: neverReturns}
	}

	// one query reports another holder
	crowd := []porcupine.Operation{op(50, 60, "a", "a"), op(55, 65, "", "b"), unknown(1, "b")}
	for i := range int64(30) {
		crowd = append(crowd, unknown(2+i, fmt.Sprint(i)))
	}

	for name, test := range map[string]struct {
		history []porcupine.Operation
		winners int
		order   porcupine.CheckResult
	}{
		"one wins, one loses":                     {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 5, "b", "a")}, 1, porcupine.Ok},
		"the winner asks twice":                   {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "a", "a")}, 1, porcupine.Ok},
		"two win":                                 {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 5, "b", "b")}, 2, porcupine.Illegal},
		"two win, one after the other":            {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "b", "b")}, 2, porcupine.Illegal},
		"one loses to who never asked":            {[]porcupine.Operation{op(1, 9, "b", "a")}, 0, porcupine.Illegal},
		"one loses before the winner asks":        {[]porcupine.Operation{op(1, 3, "b", "a"), op(4, 5, "a", "a")}, 1, porcupine.Illegal},
		"the holder changes for losers":           {[]porcupine.Operation{op(1, 3, "a", "a"), op(1, 9, "b", "c"), unknown(1, "c")}, 1, porcupine.Illegal},
		"free while the claim is under way":       {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 3, "", ""), op(4, 5, "", "a")}, 1, porcupine.Ok},
		"free again":                              {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 3, "", "a"), op(4, 5, "", "")}, 1, porcupine.Illegal},
		"free before, and free again":             {[]porcupine.Operation{op(1, 2, "", ""), op(2, 3, "a", "a"), op(4, 5, "", "")}, 1, porcupine.Illegal},
		"free after the claim was answered":       {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "", "")}, 1, porcupine.Illegal},
		"the unanswered claim counts":             {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "b", "a"), op(4, 5, "a", "a")}, 1, porcupine.Ok},
		"the unanswered claim counts late":        {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "", ""), op(4, 5, "b", "a")}, 0, porcupine.Ok},
		"the unanswered claim does not count":     {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "b", "b")}, 1, porcupine.Ok},
		"the unanswered claim comes after":        {[]porcupine.Operation{op(2, 3, "b", "a"), unknown(4, "a")}, 0, porcupine.Illegal},
		"many unanswered claims hide no mistakes": {crowd, 1, porcupine.Illegal},
	} {
		if v := judge(test.history); len(v.winners) != test.winners || v.order != test.order {
			t.Errorf(
				"%s: %d winners, %s; want %d, %s\n%s", name, len(v.winners), v.order, test.winners, test.order,
				describe(test.history),
			)
		}
	}
}

// TestRaceBinding compares the search with one in the complete history.
func TestRaceBinding(t *testing.T) {
	t.Parallel()
	who := rapid.SampledFrom([]string{"", "a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		history := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) porcupine.Operation {
			op := porcupine.Operation{Input: raceCall{who.Draw(t, "who")}, Call: rapid.Int64Range(0, 9).Draw(t, "call")}
			if rapid.IntRange(0, 3).Draw(t, "unknown") == 0 {
				op.Output, op.Return = raceTold{unknown: true}, neverReturns
			} else {
				op.Output, op.Return = raceTold{holder: who.Draw(t, "holder")}, op.Call+rapid.Int64Range(0, 9).Draw(t, "time")
			}
			return op
		}), 0, 8).Draw(t, "history")
		if got, want := judge(history).order, porcupine.CheckOperationsTimeout(claiming, history, 0); got != want {
			t.Errorf("%s; the whole history is %s:\n%s", got, want, describe(history))
		}
	})
}
