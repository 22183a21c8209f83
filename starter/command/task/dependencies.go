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
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// dependency is a task in a tree of those that wait for each other.
type dependency struct {
	ID     string              `json:"id"`
	Status lifecycle.TaskState `json:"status"`
	Title  string              `json:"title,omitempty"` // empty: it may not be seen
	// Below are the next ones. A task that several wait for has them at its first place only.
	Below []dependency `json:"below,omitempty"`
	Again bool         `json:"again,omitempty"`
}

// dependencies are all that a task waits for, and all that waits for it.
type dependencies struct {
	dependency
	Blockers   []dependency `json:"blockers"`
	Dependents []dependency `json:"dependents"`
}

func newTaskDep(t *remote.Target) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "dep ID", Short: "Show what a task waits for, and what waits for it, as trees", Args: terminal.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.AsUser()
			if err != nil {
				return err
			}

			found, err := dependenciesOf(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				showDependencies(cmd.OutOrStdout(), found)
				return nil
			}

			document, err := json.Marshal(found)
			if err != nil {
				return err
			}
			return terminal.Verbatim(cmd.OutOrStdout(), document)
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

// dependenciesOf looks through the task's workspace.
func dependenciesOf(ctx context.Context, c *client.Client, id string) (dependencies, error) {
	answer, err := c.Get(ctx, Path(id), nil)
	if err != nil {
		return dependencies{}, err
	}

	root, err := client.Decode[Task](answer)
	if err != nil {
		return dependencies{}, err
	}

	g := taskGraph{tasks: map[string]Task{}, waiting: map[string][]blocker{}}
	err = client.EachItem(ctx, c, "/v1/tasks", url.Values{"workspace_id": {root.WorkspaceID}}, func(t Task) bool {
		g.tasks[t.ID] = t
		for _, b := range t.Blockers {
			g.waiting[b.ID] = append(g.waiting[b.ID], blocker{t.ID, t.Status})
		}
		return false
	})

	blockers := func(id string) []blocker { return g.tasks[id].Blockers }
	dependents := func(id string) []blocker { return g.waiting[id] }
	return dependencies{
		dependency: dependency{ID: root.ID, Status: root.Status, Title: root.Title},
		Blockers:   g.tree(root.ID, blockers, map[string]bool{}), Dependents: g.tree(root.ID, dependents, map[string]bool{}),
	}, err
}

// taskGraph is a workspace's tasks, and who waits for each.
type taskGraph struct {
	tasks   map[string]Task
	waiting map[string][]blocker
}

// tree follows next from a task on, the oldest tasks first.
func (g taskGraph) tree(id string, next func(string) []blocker, seen map[string]bool) []dependency {
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

func olderFirst(a, b blocker) int {
	first, _ := strconv.ParseInt(a.ID, 10, 64)
	second, _ := strconv.ParseInt(b.ID, 10, 64)
	return cmp.Compare(first, second)
}

func showDependencies(w io.Writer, d dependencies) {
	fmt.Fprintln(w, dependencyLine(d.dependency))
	for _, part := range []struct {
		heading, none string
		trees         []dependency
	}{{"waits for", "waits for nothing", d.Blockers}, {"is waited for by", "nothing waits for it", d.Dependents}} {
		if len(part.trees) == 0 {
			fmt.Fprintln(w, part.none)
			continue
		}
		fmt.Fprintln(w, part.heading)
		showTree(w, "", part.trees)
	}
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
