package tasks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"stagecoach/api/shape"
)

// TestDrawGraph draws graphs of any shape: each task has its own place, to the right of all its blockers, and each
// dependency is a line.
func TestDrawGraph(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var graph shape.TaskGraph
		waits := 0
		for i := range random.IntN(40) {
			node := shape.TaskNode{ID: fmt.Sprint(i), Title: "Build the house at the end of the street"}
			for blocker := range i {
				if random.IntN(10) == 0 {
					node.BlockedBy = append(node.BlockedBy, fmt.Sprint(blocker))
					waits++
				}
			}
			graph.Items = append(graph.Items, node)
		}

		random.Shuffle(len(graph.Items), func(i, j int) { graph.Items[i], graph.Items[j] = graph.Items[j], graph.Items[i] })

		d := drawGraph(graph, "0")
		if len(d.Nodes) != len(graph.Items) || len(d.Edges) != waits {
			t.Fatalf("seed %d: %d of %d tasks, %d of %d lines", seed, len(d.Nodes), len(graph.Items), len(d.Edges), waits)
		}

		taken := map[[2]int]bool{}
		at := map[string]int{}
		for _, node := range d.Nodes {
			if taken[[2]int{node.X, node.Y}] || node.X+nodeWidth > d.Width || node.Y+nodeHeight > d.Height {
				t.Errorf("seed %d: task %s stands at %d, %d of %d, %d", seed, node.ID, node.X, node.Y, d.Width, d.Height)
			}
			taken[[2]int{node.X, node.Y}], at[node.ID] = true, node.X
		}

		for _, node := range d.Nodes {
			if slices.ContainsFunc(node.BlockedBy, func(id string) bool { return at[id] >= node.X }) {
				t.Errorf("seed %d: task %s does not stand right of what it waits for", seed, node.ID)
			}
			if node.Here != (node.ID == "0") || len([]rune(node.Short)) > shortTitle {
				t.Errorf("seed %d: %+v", seed, node)
			}
		}
	}
}

// TestDrawACircle draws a cycle, which the record excludes: the drawing terminates.
func TestDrawACircle(t *testing.T) {
	t.Parallel()
	d := drawGraph(
		shape.TaskGraph{Items: []shape.TaskNode{{ID: "1", BlockedBy: []string{"2"}}, {ID: "2", BlockedBy: []string{"1"}}}},
		"",
	)
	if len(d.Nodes) != 2 || len(d.Edges) != 2 {
		t.Errorf("%+v", d)
	}
}
