package service

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// TaskColumn are the newest tasks in one status.
type TaskColumn struct {
	State lifecycle.TaskState
	Tasks []task.Task
	More  bool // there are older ones
}

// Board returns the newest tasks of a workspace that the user may see, up to limit in each status: a column for each
// status, in the order of a task's life.
func (c *Tasks) Board(ctx context.Context, user account.User, workspaceID int64, limit int) ([]TaskColumn, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return nil, err
	}

	tasks, err := c.Store.BoardOf(ctx, viewerOf(user), workspaceID, limit+1)
	if err != nil {
		return nil, err
	}

	byState := map[lifecycle.TaskState][]task.Task{}
	for _, t := range tasks {
		byState[t.State] = append(byState[t.State], t)
	}

	columns := make([]TaskColumn, len(lifecycle.TaskStates))
	for i, state := range lifecycle.TaskStates {
		shown := byState[state]
		columns[i] = TaskColumn{State: state, Tasks: shown[:min(limit, len(shown))], More: len(shown) > limit}
	}
	return columns, nil
}

// MyTasks are the tasks that wait for a user.
type MyTasks struct {
	task.Work
	Ready []task.Task // that the user can claim, the newest first
}

// Mine returns up to limit tasks that the user is the assignee of, and up to limit that the user can claim.
func (c *Tasks) Mine(ctx context.Context, user account.User, limit int) (mine MyTasks, err error) {
	if mine.Work, err = c.Store.WorkOf(ctx, user.ID, limit); err != nil {
		return mine, err
	}
	mine.Ready, err = c.List(ctx, user, task.Filter{Ready: true, Limit: limit})
	return mine, err
}

// TaskGraph are tasks that wait for each other.
type TaskGraph struct {
	Nodes   []task.Node
	Partial bool // there are as many as were asked for: there may be more
}

// Graph returns up to limit tasks that a task waits for or that wait for it, as far as the user may see them, and the
// task itself.
func (c *Tasks) Graph(ctx context.Context, user account.User, taskID int64, limit int) (TaskGraph, error) {
	nodes, err := c.Store.GraphOfTask(ctx, viewerOf(user), taskID, limit)
	return TaskGraph{nodes, len(nodes) == limit}, err
}

// GraphOfWorkspace returns the newest tasks of a workspace, up to limit, that wait for others or are waited for, as far
// as the user may see them.
func (c *Tasks) GraphOfWorkspace(
	ctx context.Context, user account.User, workspaceID int64, limit int,
) (TaskGraph, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return TaskGraph{}, err
	}

	nodes, err := c.Store.GraphOfWorkspace(ctx, viewerOf(user), workspaceID, limit)
	return TaskGraph{nodes, len(nodes) == limit}, err
}

// daysCounted is how many days before today have figures of their own, at most.
const daysCounted = 30

// Stats returns statistics of a workspace that the user may see, since a moment, and those of each day of the last 31.
func (c *Tasks) Stats(
	ctx context.Context, user account.User, workspaceID int64, since time.Time,
) (stats task.TaskStats, days []task.TaskDay, err error) {
	if _, err = c.Workspace(ctx, user, workspaceID); err != nil {
		return stats, nil, err
	}
	if stats, err = c.Store.StatsOfTasks(ctx, workspaceID, since); err != nil {
		return stats, nil, err
	}

	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -daysCounted)
	if since.After(first) {
		first = since
	}

	found, err := c.Store.DaysOfTasks(ctx, workspaceID, first)
	return stats, everyDay(first, found), err
}

// everyDay adds the days on which nothing happened, from the day of a moment to today, in UTC.
func everyDay(since time.Time, found []task.TaskDay) (days []task.TaskDay) {
	for day := since.UTC().Truncate(24 * time.Hour); !day.After(time.Now()); day = day.AddDate(0, 0, 1) {
		one := task.TaskDay{Day: day}
		if len(found) > 0 && found[0].Day.Equal(day) {
			one, found = found[0], found[1:]
		}
		days = append(days, one)
	}
	return days
}
