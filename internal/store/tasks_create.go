package store

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// NewTask is one task of a graph that is to be made at once.
type NewTask struct {
	Ref         string // how others of the graph name it; may be empty
	Title       string
	Description string
	Visibility  string
	Priority    string
	Labels      []string
	AssigneeID  *int64
	BlockedBy   []string // refs of the graph, or ids of tasks of the workspace
}

// CreateTasks makes a graph of tasks in one workspace, all or none, each with its first event. It gives them in the order asked.
// CYCLIC_DEPENDENCY tells the cycle, UNKNOWN_BLOCKER who is unknown. A repeated request gives what the first one made.
func (s *Store) CreateTasks(ctx context.Context, workspaceID int64, graph []NewTask, first Event, r Request) ([]Task, error) {
	plan, err := planGraph(graph)
	if err != nil {
		return nil, err
	}
	return answerOnce(ctx, s, r, func(tx pgx.Tx) ([]Task, error) {
		if err := lockBlockers(ctx, tx, workspaceID, r.UserID, plan.outside); err != nil {
			return nil, err
		}
		ids := make([]int64, len(graph))
		for i, task := range graph {
			err := tx.QueryRow(ctx, `INSERT INTO tasks (workspace_id, title, description, visibility, priority, labels, creator_id, assignee_id, status)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id`,
				workspaceID, task.Title, task.Description, task.Visibility, task.Priority, task.Labels, r.UserID, task.AssigneeID, first.To).Scan(&ids[i])
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
			queueEvent(batch, tasks, ids[i], 1, r.UserID, first)
		}
		batch.Queue(`UPDATE tasks t SET `+clock(`status`, `since`)+` FROM workspaces w WHERE w.id = t.workspace_id AND t.id = ANY ($1)`, ids)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}
		rows, err := tx.Query(ctx, taskSelect+`WHERE id = ANY ($1) ORDER BY id`, ids)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByName[Task])
	})
}

// graphPlan is a checked graph: who blocks each task.
type graphPlan struct {
	blockers [][]graphBlocker
	outside  []int64 // tasks that exist already
}

// graphBlocker is a task of the graph by its place in it, or another by its id.
type graphBlocker struct {
	inside bool
	index  int
	id     int64
}

func planGraph(graph []NewTask) (graphPlan, error) {
	places := map[string]int{}
	for i, task := range graph {
		if _, taken := places[task.Ref]; taken {
			return graphPlan{}, fault.New(fault.Validation, "two tasks have the ref %q", task.Ref).WithField("ref")
		}
		if task.Ref != "" {
			places[task.Ref] = i
		}
	}
	plan := graphPlan{blockers: make([][]graphBlocker, len(graph))}
	var unknown []string
	for i, task := range graph {
		for _, name := range task.BlockedBy {
			if index, inside := places[name]; inside {
				plan.blockers[i] = append(plan.blockers[i], graphBlocker{inside: true, index: index})
			} else if id, err := strconv.ParseInt(name, 10, 64); err == nil {
				plan.blockers[i] = append(plan.blockers[i], graphBlocker{id: id})
				plan.outside = append(plan.outside, id)
			} else {
				unknown = append(unknown, name)
			}
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
		return graphPlan{}, fault.New(fault.CyclicDependency, "the tasks wait for each other").With("cycle", names).WithField("blocked_by")
	}
	return plan, nil
}

// cycle finds tasks that wait for each other by a depth-first search: a → … → a, or nil. A task that exists already
// cannot wait for one that does not, so that a cycle lies within the graph.
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

// lockBlockers makes sure that the blockers exist in the workspace and are seen by the user. They are locked against
// change: a blocker that is DONE at the same moment either is seen so, or sees its new dependent.
func lockBlockers(ctx context.Context, tx pgx.Tx, workspaceID, userID int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT t.id FROM tasks t JOIN users u ON u.id = $1 WHERE t.id = ANY ($2) AND t.workspace_id = $3
		AND (u.role = 'ADMIN' OR `+visible+`) ORDER BY t.id FOR SHARE OF t`, userID, ids, workspaceID)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	var unknown []string
	for _, id := range ids {
		if !slices.Contains(found, id) {
			unknown = append(unknown, strconv.FormatInt(id, 10))
		}
	}
	if len(unknown) > 0 {
		return unknownBlockers(unknown)
	}
	return nil
}

func unknownBlockers(names []string) error {
	return fault.New(fault.UnknownBlocker, "not every blocker is a task of this workspace").With("unknown", names).WithField("blocked_by")
}
