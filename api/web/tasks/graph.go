package tasks

import (
	"cmp"
	"fmt"
	"slices"

	"stagecoach/api/shape"
)

// drawing is a graph of tasks, from left to right: each task is drawn to the right of its blockers.
type drawing struct {
	Width, Height int
	Nodes         []drawnNode
	Edges         []string // paths, from a task to one that it blocks
	Partial       bool
}

// drawnNode is a task with the upper left corner of its box.
type drawnNode struct {
	shape.TaskNode
	X, Y  int
	Short string // the title, shortened to fit
	Here  bool   // the page's own task
}

// The drawing's dimensions, in pixels.
const (
	nodeWidth  = 176
	nodeHeight = 46
	columnGap  = 44
	rowGap     = 14
	border     = 4
	shortTitle = 21 // characters
)

// drawGraph lays out a graph of tasks. here is the page's own task; empty: none.
func drawGraph(graph shape.TaskGraph, here string) drawing {
	d := drawing{Partial: graph.Partial}
	places := map[string]int{} // index in d.Nodes
	for column, layer := range layersOf(graph.Items) {
		for row, node := range layer {
			places[node.ID] = len(d.Nodes)
			d.Nodes = append(d.Nodes, drawnNode{
				TaskNode: node, X: border + column*(nodeWidth+columnGap), Y: border + row*(nodeHeight+rowGap),
				Short: cut(node.Title), Here: node.ID == here,
			})
		}
	}

	for _, node := range d.Nodes {
		d.Width = max(d.Width, node.X+nodeWidth+border)
		d.Height = max(d.Height, node.Y+nodeHeight+border)
		for _, id := range node.BlockedBy {
			d.Edges = append(d.Edges, edge(d.Nodes[places[id]], node))
		}
	}

	return d
}

// edge is the path from a task's right side to the left side of one that it blocks.
func edge(from, to drawnNode) string {
	x1, y1 := from.X+nodeWidth, from.Y+nodeHeight/2
	x2, y2 := to.X, to.Y+nodeHeight/2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+columnGap/2, y1, x2-columnGap/2, y2, x2-1, y2)
}

func cut(title string) string {
	runes := []rune(title)
	if len(runes) <= shortTitle {
		return title
	}
	return string(runes[:shortTitle-1]) + "…"
}

// layersOf puts each task to the right of all its blockers, and directly left of the first task that it blocks, so that
// few lines pass behind other tasks. Within a column it is placed near its blockers.
func layersOf(nodes []shape.TaskNode) (layers [][]shape.TaskNode) {
	columns := columnsOf(nodes)
	for _, node := range nodes {
		for len(layers) <= columns[node.ID] {
			layers = append(layers, nil)
		}
		layers[columns[node.ID]] = append(layers[columns[node.ID]], node)
	}

	order(layers)
	return layers
}

// columnsOf returns the columns of tasks by id.
func columnsOf(nodes []shape.TaskNode) map[string]int {
	columns := depthsOf(nodes)
	first := map[string]int{} // column of the first task that a task blocks
	fromTheRight := slices.SortedStableFunc(slices.Values(nodes), func(a, b shape.TaskNode) int {
		return columns[b.ID] - columns[a.ID]
	})

	for _, node := range fromTheRight {
		if waits, found := first[node.ID]; found {
			columns[node.ID] = waits - 1
		}
		for _, blocker := range node.BlockedBy {
			if waits, found := first[blocker]; !found || columns[node.ID] < waits {
				first[blocker] = columns[node.ID]
			}
		}
	}

	return columns
}

// depthsOf returns the first column to the right of all of a task's blockers.
func depthsOf(nodes []shape.TaskNode) map[string]int {
	byID := map[string]shape.TaskNode{}
	for _, node := range nodes {
		byID[node.ID] = node
	}

	depths := map[string]int{}
	var depth func(id string) int
	depth = func(id string) int {
		if known, found := depths[id]; found {
			return known
		}
		depths[id] = 0 // ends the recursion in a cycle, which the record excludes
		deepest := 0
		for _, blocker := range byID[id].BlockedBy {
			deepest = max(deepest, depth(blocker)+1)
		}
		depths[id] = deepest
		return deepest
	}

	for _, node := range nodes {
		depth(node.ID)
	}
	return depths
}

// order sorts each column by the average row of its tasks' blockers, so that fewer lines cross.
func order(layers [][]shape.TaskNode) {
	rows := map[string]float64{}
	for _, layer := range layers {
		middle := func(node shape.TaskNode) float64 {
			sum := 0.0
			for _, blocker := range node.BlockedBy {
				sum += rows[blocker]
			}
			return sum / max(1, float64(len(node.BlockedBy)))
		}

		slices.SortStableFunc(layer, func(a, b shape.TaskNode) int { return cmp.Compare(middle(a), middle(b)) })
		for row, node := range layer {
			rows[node.ID] = float64(row)
		}
	}
}
