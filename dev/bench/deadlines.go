package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

const (
	dueTasks     = 1000
	dueAfter     = 12 * time.Second // long enough to create all of them
	dueLongest   = 2 * time.Minute  // until the last one must have expired
	deadlineName = "1,000 workflows with nothing but a timer"
)

// measureDeadlines lets many deadlines pass at once. A task has expired when the record says so, a bare timer when its
// workflow has ended.
func measureDeadlines(ctx context.Context, m *machine) ([]row, error) {
	var ours, bare lateness
	err := m.takeTurns(ctx, nil,
		func(r *rig) error { return ours.add(r.expireTogether(ctx)) },
		func(r *rig) error { return bare.add(r.bareTimers(ctx)) },
	)
	if err != nil {
		return nil, err
	}

	const name = "1,000 deadlines in the same second, "
	return []row{
		measured(name+"late by p50", "ms", ours.p50...).against(deadlineName, bare.p50...).atMostTimes(1.05),
		measured(name+"late by p99", "ms", ours.p99...).against(deadlineName, bare.p99...).atMostTimes(1.2),
		measured(name+"early", "tasks", early(ours.all)).against(deadlineName, early(bare.all)).atMost(0),
	}, nil
}

// lateness is how late the deadlines of one side were, in milliseconds.
type lateness struct{ all, p50, p99 []float64 }

func (l *lateness) add(late []float64, err error) error {
	if err != nil {
		return err
	}
	l.all = append(l.all, late...)
	l.p50, l.p99 = append(l.p50, quantile(late, 0.5)), append(l.p99, quantile(late, 0.99))
	return nil
}

// early counts those that expired too early.
func early(late []float64) (count float64) {
	for _, by := range late {
		if by < 0 {
			count++
		}
	}
	return count
}

// expireTogether creates tasks that are due at the same time and returns by how many milliseconds each was late.
func (r *rig) expireTogether(ctx context.Context) ([]float64, error) {
	team, err := r.team(ctx, map[lifecycle.TaskState]float64{lifecycle.TaskNew: dueAfter.Minutes()})
	if err != nil {
		return nil, err
	}
	defer team.forget(ctx)

	tasks, err := team.make(ctx, dueTasks)
	if err != nil {
		return nil, err
	}

	first, last := *tasks[0].DeadlineAt, *tasks[0].DeadlineAt
	for _, one := range tasks {
		if one.DeadlineAt.Before(first) {
			first = *one.DeadlineAt
		}
		if one.DeadlineAt.After(last) {
			last = *one.DeadlineAt
		}
	}

	if left := time.Until(first); left < time.Second || last.Sub(first) > time.Second {
		return nil, fmt.Errorf("making %d tasks took too long to measure their deadlines: the first is in %s, the last %s later",
			dueTasks, left, last.Sub(first))
	}
	if err := team.awaitExpiry(ctx, last); err != nil {
		return nil, err
	}

	var late []float64
	for _, one := range tasks {
		events, err := r.store.Tasks.EventsOf(ctx, 0, one.ID, 0, 10)
		if err != nil {
			return nil, err
		}
		if len(events) != 2 || events[1].Type != "deadline_expired" {
			return nil, fmt.Errorf("task %d has %d events instead of its creation and its expiry", one.ID, len(events))
		}
		late = append(late, milliseconds(events[1].CreatedAt.Sub(*one.DeadlineAt)))
	}

	return late, nil
}

// awaitExpiry waits until no task of the team is NEW. It polls rarely, so as not to disturb the measurement.
func (t team) awaitExpiry(ctx context.Context, last time.Time) error {
	wait := time.Until(last) + 500*time.Millisecond
	for deadline := last.Add(dueLongest); ; wait = 500 * time.Millisecond {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}

		left, err := t.store.Tasks.List(ctx, task.Filter{WorkspaceID: t.space.ID, Status: lifecycle.TaskNew, Limit: 1})
		switch {
		case err != nil || len(left) == 0:
			return err
		case time.Now().After(deadline):
			return errors.New("not every deadline has passed")
		}
	}
}

// bareTimers is the same with workflows that only wait.
func (r *rig) bareTimers(ctx context.Context) ([]float64, error) {
	due := time.Now().Add(dueAfter)
	ids, err := r.startBare(ctx, dueTasks, bareTimer, due)
	if err != nil {
		return nil, err
	}
	if time.Until(due) < time.Second {
		return nil, fmt.Errorf("starting %d workflows took too long to measure their timers", dueTasks)
	}

	late := make([]float64, len(ids))
	time.Sleep(time.Until(due) + 5*time.Second) // polling disturbs
	ends, ctx := errgroup.WithContext(ctx)
	ends.SetLimit(startsAtAll)

	for i, id := range ids {
		ends.Go(func() error {
			if err := r.client.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
				return err
			}
			ended, err := r.client.DescribeWorkflowExecution(ctx, id, "")
			if err != nil {
				return err
			}
			late[i] = milliseconds(ended.WorkflowExecutionInfo.CloseTime.AsTime().Sub(due))
			return nil
		})
	}

	return late, ends.Wait()
}
