package site

import (
	"slices"

	"stagecoach/internal/lifecycle"
)

// homeView is what waits for the person, what is in progress, and each part's card.
type homeView struct {
	Needs    []Need
	UnderWay []underWay
	Cards    []homeCard
}

// underWay is what is in progress in one workload.
type underWay struct {
	Workload string
	States   []StateCount // without empty ones
}

// StateCount is the number of entities in one state.
type StateCount struct {
	State string
	Count int64
}

// CountStates returns a workload's non-empty states, in order.
func CountStates(workload lifecycle.Workload, counts map[string]int64) (all []StateCount) {
	for _, name := range workload.Table.StateNames() {
		if n := counts[name]; n > 0 {
			all = append(all, StateCount{name, n})
		}
	}
	return all
}

// homeCard is a part's card, or why there is none.
type homeCard struct {
	Section Section
	Data    any
	Problem *Problem
}

func (s *Site) showHome(r *Request) (View, error) {
	var home homeView
	for _, part := range s.parts {
		if part.Card == nil || part.Sections[0].Admins && !r.Admin() {
			continue
		}

		card, err := part.Card(r)
		shown := homeCard{Section: part.Sections[0], Data: card.Data}
		if err != nil {
			shown.Problem = s.problemOf(r, err)
		}
		home.Cards = append(home.Cards, shown)
		home.Needs = append(home.Needs, card.Needs...)
	}

	slices.SortStableFunc(home.Needs, sooner)
	home.UnderWay = s.underWay(r)
	return View{Data: home}, nil
}

// underWay counts active entities, by workload and state, in order. The person's token may not allow that: the cards
// report it.
func (s *Site) underWay(r *Request) (all []underWay) {
	overview, err := r.Overview()
	if err != nil {
		return nil
	}

	for _, workload := range lifecycle.Workloads {
		if states := CountStates(workload, overview.Live[workload.Name]); len(states) > 0 {
			all = append(all, underWay{workload.Name, states})
		}
	}

	return all
}

// sooner sorts by due time, entries without one last.
func sooner(a, b Need) int {
	switch {
	case a.Due != nil && b.Due != nil:
		return a.Due.Compare(*b.Due)
	case a.Due != nil:
		return -1
	case b.Due != nil:
		return 1
	}
	return 0
}
