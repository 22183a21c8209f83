package task

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// NewTask is one task of a graph to be created at once.
type NewTask struct {
	Ref         string // its name for other tasks in the graph; may be empty
	Title       string
	Description string
	Visibility  string
	Priority    string
	Labels      []string
	AssigneeID  *int64
	BlockedBy   []string // refs in the graph, or ids of tasks in the workspace
}

// FieldOf returns the path of a field of one task of a graph, as in the request: "tasks[2].title".
func FieldOf(index int, field string) string { return fmt.Sprintf("tasks[%d].%s", index, field) }

// Create creates a graph of tasks in one workspace, all or none, each with its first event. It returns them in the
// order of the request. CYCLIC_DEPENDENCY names the cycle, UNKNOWN_BLOCKER the unknown blockers, and both the first
// field at fault. A repeated request returns created = false with what the first one created. QUOTA_EXCEEDED: the user
// has too many live tasks.
func (s *Store) Create(
	ctx context.Context, workspaceID int64, graph []NewTask, first core.Event, r core.Request,
) (made []Task, created bool, err error) {
	if err := core.Compare(lifecycle.Task, lifecycle.TaskState(first.To), first); err != nil {
		return nil, false, err
	}

	plan, err := planGraph(graph)
	if err != nil {
		return nil, false, err
	}

	var ids []int64
	made, err = core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) ([]Task, error) {
		if err := s.db.Quotas.Of(taskQuota).Check(ctx, tx, r.UserID, len(graph)); err != nil {
			return nil, err
		}
		if err := findBlockers(ctx, tx, workspaceID, r.UserID, plan.outside, `FOR SHARE OF t`); err != nil {
			return nil, err
		}

		ids = make([]int64, len(graph))
		for i, task := range graph {
			err := tx.QueryRow(ctx, `INSERT INTO tasks (workspace_id, title, description, visibility, priority, labels, creator_id, assignee_id, status, folded)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
				workspaceID, task.Title, task.Description, task.Visibility, task.Priority, task.Labels, r.UserID, task.AssigneeID, first.To,
				core.Fold(task.Title+" "+task.Description)).Scan(&ids[i])
			if err != nil {
				return nil, err
			}
		}

		first.ActorID = &r.UserID
		batch := &pgx.Batch{}
		for i, blockers := range plan.blockers {
			for _, blocker := range blockers {
				id := blocker.id
				if blocker.inside {
					id = ids[blocker.index]
				}
				batch.Queue(`INSERT INTO task_blockers (task_id, blocker_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, ids[i], id)
			}
			core.QueueEvent(batch, lifecycle.WorkloadTask, fmt.Sprint(ids[i]), 1, &r.UserID, first)
		}

		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}

		return s.beginAll(ctx, tx, ids)
	})

	// A concurrent repetition of the request may have won: then ours are rolled back.
	return made, err == nil && len(ids) > 0 && made[0].ID == slices.Min(ids), err
}

// beginAll sets the times of new tasks, and returns the tasks in id order.
func (s *Store) beginAll(ctx context.Context, tx pgx.Tx, ids []int64) ([]Task, error) {
	rows, err := core.List[struct {
		Task
		clock
	}](ctx, tx, `SELECT `+taskColumns+`, `+clockColumns+` FROM tasks t JOIN workspaces w ON w.id = t.workspace_id
		WHERE t.id = ANY ($1) ORDER BY t.id`, ids)
	if err != nil {
		return nil, err
	}

	made, batch := make([]Task, len(rows)), &pgx.Batch{}
	for i, row := range rows {
		made[i] = row.Task
		s.TaskTimes.begin(&made[i], row.clock)
		batch.Queue(`UPDATE tasks SET clock_waits = $2, status_deadline_at = $3 WHERE id = $1`,
			made[i].ID, made[i].ClockWaits, made[i].DeadlineAt)
	}
	return made, tx.SendBatch(ctx, batch).Close()
}

// graphPlan is a checked graph: each task's blockers, in the order of its blocked_by.
type graphPlan struct {
	blockers [][]graphBlocker
	outside  []graphBlocker // existing tasks
}

// graphBlocker is a task of the graph by its index, or an existing task by its id.
type graphBlocker struct {
	inside bool
	index  int
	id     int64
	named  string // in blocked_by
	task   int    // whose blocked_by, by its index
	place  int    // in blocked_by
}

// field names the blocker in the request.
func (b graphBlocker) field() string { return FieldOf(b.task, fmt.Sprintf("blocked_by[%d]", b.place)) }

func planGraph(graph []NewTask) (graphPlan, error) {
	places, numbered := map[string]int{}, false
	for i, task := range graph {
		if _, taken := places[task.Ref]; taken {
			return graphPlan{}, fault.Invalid(FieldOf(i, "ref"), "two tasks have the ref %q", task.Ref)
		}
		if task.Ref != "" {
			places[task.Ref] = i
			_, err := strconv.ParseInt(task.Ref, 10, 64)
			numbered = numbered || err == nil
		}
	}

	plan := graphPlan{blockers: make([][]graphBlocker, len(graph))}
	var unknown []graphBlocker
	for i, task := range graph {
		for j, name := range task.BlockedBy {
			blocker := graphBlocker{named: name, task: i, place: j}
			if blocker.index, blocker.inside = places[name]; !blocker.inside {
				var err error
				if blocker.id, err = strconv.ParseInt(name, 10, 64); err == nil && !numbered { // otherwise it may be a missing ref
					plan.outside = append(plan.outside, blocker)
				} else {
					unknown = append(unknown, blocker)
				}
			}
			plan.blockers[i] = append(plan.blockers[i], blocker)
		}
	}

	if len(unknown) > 0 {
		return graphPlan{}, unknownBlockers(unknown)
	}
	if cycle := plan.cycle(); cycle != nil {
		var names []string
		for _, i := range cycle {
			names = append(names, graph[i].Ref)
		}
		closing := plan.blockers[cycle[0]][slices.IndexFunc(
			plan.blockers[cycle[0]], func(b graphBlocker) bool { return b.inside && b.index == cycle[1] },
		)]
		return graphPlan{}, fault.New(
			fault.CyclicDependency, "the tasks wait for each other",
		).With("cycle", names).WithField(closing.field())
	}

	return plan, nil
}

// cycle finds tasks that wait for each other by a depth-first search: a → … → a, or nil. An existing task cannot wait
// for a new one, so a cycle is always within the graph.
func (p graphPlan) cycle() []int {
	const unseen, onPath, clear = 0, 1, 2
	seen := make([]int, len(p.blockers))
	var path []int
	var visit func(i int) []int
	visit = func(i int) []int {
		if seen[i] == onPath {
			return append(slices.Clone(path[slices.Index(path, i):]), i)
		}
		if seen[i] == clear {
			return nil
		}

		seen[i], path = onPath, append(path, i)
		for _, blocker := range p.blockers[i] {
			if blocker.inside {
				if cycle := visit(blocker.index); cycle != nil {
					return cycle
				}
			}
		}

		seen[i], path = clear, path[:len(path)-1]
		return nil
	}

	for i := range p.blockers {
		if seen[i] == unseen {
			if cycle := visit(i); cycle != nil {
				return cycle
			}
		}
	}

	return nil
}

// findBlockers checks that the blockers exist in the workspace and that the user may see them. lock locks them against
// change: a blocker that concurrently becomes DONE either is seen as DONE, or sees its new dependent.
func findBlockers(
	ctx context.Context, tx pgx.Tx, workspaceID, userID int64, blockers []graphBlocker, lock string,
) error {
	if len(blockers) == 0 {
		return nil
	}

	ids := make([]int64, len(blockers))
	for i, blocker := range blockers {
		ids[i] = blocker.id
	}

	found, err := core.Values[int64](ctx, tx, `SELECT t.id FROM tasks t JOIN users u ON u.id = $1 WHERE t.id = ANY ($2) AND t.workspace_id = $3
		AND (u.role = 'ADMIN' OR `+visible+`) ORDER BY t.id `+lock, userID, ids, workspaceID)
	if err != nil {
		return err
	}

	if unknown := without(blockers, found); len(unknown) > 0 {
		return unknownBlockers(unknown)
	}
	return nil
}

// without returns the blockers that were not found.
func without(blockers []graphBlocker, found []int64) (unknown []graphBlocker) {
	known := make(map[int64]bool, len(found))
	for _, id := range found {
		known[id] = true
	}

	for _, blocker := range blockers {
		if !known[blocker.id] {
			unknown = append(unknown, blocker)
		}
	}
	return unknown
}

// toldUnknown is how many unknown blockers a refusal names.
const toldUnknown = 20

func unknownBlockers(unknown []graphBlocker) error {
	told := unknown[:min(len(unknown), toldUnknown)]
	names := make([]string, len(told))
	for i, blocker := range told {
		names[i] = blocker.named
	}
	return fault.New(
		fault.UnknownBlocker, "not every blocker is a task of this workspace",
	).With("unknown", names).WithField(unknown[0].field())
}
