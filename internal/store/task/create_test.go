package task

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkBlockersOfAGraph finds the unknown blockers of a whole graph, compared with scanning the known ones for
// each.
func BenchmarkBlockersOfAGraph(b *testing.B) {
	for _, edges := range []int{500, 5000} {
		blockers, found := make([]graphBlocker, edges), make([]int64, edges)
		for i := range blockers {
			blockers[i].id, found[i] = int64(edges-i), int64(i+1)
		}

		b.Run(fmt.Sprint("sets/", edges), func(b *testing.B) {
			for b.Loop() {
				without(blockers, found)
			}
		})
		b.Run(fmt.Sprint("scans/", edges), func(b *testing.B) {
			for b.Loop() {
				if slices.ContainsFunc(blockers, func(one graphBlocker) bool { return !slices.Contains(found, one.id) }) {
					b.Fatal("all are known")
				}
			}
		})
	}
}

// TestUnknownBlockersKeepTheirOrder finds those missing from the record, in the order of the request.
func TestUnknownBlockersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	blockers := []graphBlocker{{id: 3}, {id: 9}, {id: 1}, {id: 9, place: 1}, {id: 7}}
	got := without(blockers, []int64{1, 3, 5})
	if want := []graphBlocker{{id: 9}, {id: 9, place: 1}, {id: 7}}; !slices.Equal(got, want) {
		t.Errorf("unknown are %v, want %v", got, want)
	}
}
