package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// dependency is a task in a dependency tree.
type dependency struct {
	ID     string              `json:"id"`
	Status lifecycle.TaskState `json:"status"`
	Title  string              `json:"title,omitempty"` // empty: the caller may not see it
	// Below are the next tasks of the tree. A task that occurs several times has them only at its first occurrence.
	Below []dependency `json:"below,omitempty"`
	Again bool         `json:"again,omitempty"` // it is also listed above
}

// dependencies are a task's blockers, and the tasks that it blocks.
type dependencies struct {
	dependency
	Blockers   []dependency `json:"blockers"`
	Dependents []dependency `json:"dependents"`
}

func newDependencies() *cobra.Command {
	return remote.Ask[dependencies]{
		Use: "dep ID", Short: "Show the dependency trees of a task: what it waits for and what waits for it",
		Answer: func(ctx context.Context, c *client.Client, args []string) ([]byte, error) {
			found, err := dependenciesOf(ctx, c, args[0])
			if err != nil {
				return nil, err
			}
			return json.Marshal(found)
		},
		Show: showDependencies,
	}.Command()
}

// dependenciesOf reads all tasks of the task's workspace and follows their blockers in both directions.
func dependenciesOf(ctx context.Context, c *client.Client, id string) (dependencies, error) {
	root, err := client.Ask[shape.Task](ctx, c, remote.Call("GET /v1/tasks/{}", id))
	if err != nil {
		return dependencies{}, err
	}

	g := taskGraph{tasks: map[string]shape.Task{}, waiting: map[string][]shape.Blocker{}}
	err = client.EachItem(ctx, c, "/v1/tasks", url.Values{"workspace_id": {root.WorkspaceID}}, func(t shape.Task) bool {
		g.tasks[t.ID] = t
		for _, b := range t.Blockers {
			g.waiting[b.ID] = append(g.waiting[b.ID], shape.Blocker{ID: t.ID, Status: t.Status})
		}
		return false
	})
	if err != nil {
		return dependencies{}, err
	}

	blockers := func(id string) []shape.Blocker { return g.tasks[id].Blockers }
	dependents := func(id string) []shape.Blocker { return g.waiting[id] }
	return dependencies{
		dependency: dependency{ID: root.ID, Status: root.Status, Title: root.Title},
		Blockers:   g.tree(root.ID, blockers, map[string]bool{}),
		Dependents: g.tree(root.ID, dependents, map[string]bool{}),
	}, nil
}

// taskGraph holds the tasks of a workspace, and the tasks that each blocks.
type taskGraph struct {
	tasks   map[string]shape.Task
	waiting map[string][]shape.Blocker
}

// tree returns the tasks to which next leads from a task, oldest first.
func (g taskGraph) tree(id string, next func(string) []shape.Blocker, seen map[string]bool) []dependency {
	below := []dependency{}
	for _, one := range slices.SortedFunc(slices.Values(next(id)), olderFirst) {
		d := dependency{ID: one.ID, Status: one.Status, Title: g.tasks[one.ID].Title, Again: seen[one.ID]}
		if !d.Again {
			seen[one.ID] = true
			d.Below = g.tree(one.ID, next, seen)
		}
		below = append(below, d)
	}
	return below
}

func olderFirst(a, b shape.Blocker) int {
	first, _ := strconv.ParseInt(a.ID, 10, 64)
	second, _ := strconv.ParseInt(b.ID, 10, 64)
	return cmp.Compare(first, second)
}

func showDependencies(cmd *cobra.Command, d dependencies) error {
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, dependencyLine(d.dependency))
	showTrees(w, "waits for", "waits for nothing", d.Blockers)
	showTrees(w, "is waited for by", "nothing waits for it", d.Dependents)
	return nil
}

func showTrees(w io.Writer, heading, none string, trees []dependency) {
	if len(trees) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	fmt.Fprintln(w, heading)
	showTree(w, "", trees)
}

func showTree(w io.Writer, indent string, trees []dependency) {
	for i, d := range trees {
		branch, further := "├─ ", "│  "
		if i == len(trees)-1 {
			branch, further = "└─ ", "   "
		}
		fmt.Fprintln(w, indent+branch+dependencyLine(d))
		showTree(w, indent+further, d.Below)
	}
}

func dependencyLine(d dependency) string {
	line := fmt.Sprintf(
		"%s  %s  %s", terminal.Printable(d.ID), terminal.Printable(string(d.Status)), terminal.Printable(d.Title),
	)
	if d.Again {
		line += " (see above)"
	}
	return line
}
