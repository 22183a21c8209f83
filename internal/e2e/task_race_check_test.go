package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// raceCall is one request about a task that was free at first: a claim by an agent or, without one, a look at who has it.
type raceCall struct{ agent string }

// raceTold is what the answer says: who has the task then, "" for nobody.
type raceTold struct {
	holder  string
	unknown bool // no answer, or one that does not tell the outcome
}

// neverReturns is when a call without an answer returns: it may take effect at any time after it was made, also later
// than everything that is known.
const neverReturns = math.MaxInt64

// claiming is the whole truth about claims: the first one gets the task, and whoever asks later is told so.
var claiming = porcupine.Model{
	Init: func() any { return "" },
	Step: func(holder, call, told any) (bool, any) {
		holder = cmp.Or(holder.(string), call.(raceCall).agent)
		answer := told.(raceTold)
		return answer.unknown || answer.holder == holder, holder
	},
}

// verdict is what a task's history shows.
type verdict struct {
	winners      []string // the agents who were told that the task is theirs
	linearizable bool     // there is an order of the calls, each between its call and its return, that explains every answer
}

func judge(history []porcupine.Operation) verdict {
	var v verdict
	for _, op := range history {
		call, told := op.Input.(raceCall), op.Output.(raceTold)
		if call.agent != "" && told.holder == call.agent && !slices.Contains(v.winners, call.agent) {
			v.winners = append(v.winners, call.agent)
		}
	}
	v.linearizable = porcupine.CheckOperations(claiming, binding(history))
	return v
}

// binding leaves out what cannot make a history wrong: the search would try every subset of it. A task once taken stays
// taken. So of all the calls that change nothing and are told of the same holder, the one that returned first says the
// most, and of those that are told of nobody the one that was made last. An unknown claim by somebody whom no answer
// names has had no effect that anybody saw, and can stand behind everything else.
func binding(history []porcupine.Operation) (binds []porcupine.Operation) {
	named, tightest := map[string]bool{}, map[string]porcupine.Operation{}
	for _, op := range history {
		named[op.Output.(raceTold).holder] = true
	}
	for _, op := range history {
		call, told := op.Input.(raceCall), op.Output.(raceTold)
		loses := told.holder != "" && told.holder != call.agent
		looks := call.agent == ""
		switch best, found := tightest[told.holder]; {
		case told.unknown && !named[call.agent]:
		case told.unknown || !loses && !looks:
			binds = append(binds, op)
		case !found || loses && op.Return < best.Return || !loses && op.Call > best.Call:
			tightest[told.holder] = op
		}
	}
	return slices.AppendSeq(binds, maps.Values(tightest))
}

// describe lists a history in the order of its calls, times in milliseconds.
func describe(history []porcupine.Operation) string {
	history = slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
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

// TestRaceJudge shows what the judge of the race lets pass, and what it does not.
func TestRaceJudge(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, agent, holder string) porcupine.Operation {
		return porcupine.Operation{Input: raceCall{agent}, Call: from, Output: raceTold{holder: holder}, Return: to}
	}
	unknown := func(from int64, agent string) porcupine.Operation {
		return porcupine.Operation{Input: raceCall{agent}, Call: from, Output: raceTold{unknown: true}, Return: neverReturns}
	}
	crowd := []porcupine.Operation{op(50, 60, "a", "a"), op(55, 65, "", "b"), unknown(1, "b")} // one look tells of somebody else
	for i := range int64(30) {
		crowd = append(crowd, unknown(2+i, fmt.Sprint(i)))
	}
	for name, test := range map[string]struct {
		history []porcupine.Operation
		winners int
		fine    bool
	}{
		"one wins, one loses":                     {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 5, "b", "a")}, 1, true},
		"the winner asks twice":                   {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "a", "a")}, 1, true},
		"two win":                                 {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 5, "b", "b")}, 2, false},
		"two win, one after the other":            {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "b", "b")}, 2, false},
		"one loses to who never asked":            {[]porcupine.Operation{op(1, 9, "b", "a")}, 0, false},
		"one loses before the winner asks":        {[]porcupine.Operation{op(1, 3, "b", "a"), op(4, 5, "a", "a")}, 1, false},
		"the holder changes for losers":           {[]porcupine.Operation{op(1, 3, "a", "a"), op(1, 9, "b", "c"), unknown(1, "c")}, 1, false},
		"free while the claim is under way":       {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 3, "", ""), op(4, 5, "", "a")}, 1, true},
		"free again":                              {[]porcupine.Operation{op(1, 9, "a", "a"), op(2, 3, "", "a"), op(4, 5, "", "")}, 1, false},
		"free before, and free again":             {[]porcupine.Operation{op(1, 2, "", ""), op(2, 3, "a", "a"), op(4, 5, "", "")}, 1, false},
		"free after the claim was answered":       {[]porcupine.Operation{op(1, 3, "a", "a"), op(4, 5, "", "")}, 1, false},
		"the unanswered claim counts":             {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "b", "a"), op(4, 5, "a", "a")}, 1, true},
		"the unanswered claim counts late":        {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "", ""), op(4, 5, "b", "a")}, 0, true},
		"the unanswered claim does not count":     {[]porcupine.Operation{unknown(1, "a"), op(2, 3, "b", "b")}, 1, true},
		"the unanswered claim comes after":        {[]porcupine.Operation{op(2, 3, "b", "a"), unknown(4, "a")}, 0, false},
		"many unanswered claims hide no mistakes": {crowd, 1, false},
	} {
		if v := judge(test.history); len(v.winners) != test.winners || v.linearizable != test.fine {
			t.Errorf("%s: %d winners, linearizable %t; want %d, %t\n%s",
				name, len(v.winners), v.linearizable, test.winners, test.fine, describe(test.history))
		}
	}
}

// TestRaceBinding compares the judge's search with one of the whole history.
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
		if got, want := judge(history).linearizable, porcupine.CheckOperations(claiming, history); got != want {
			t.Errorf("linearizable %t; the whole history %t:\n%s", got, want, describe(history))
		}
	})
}
