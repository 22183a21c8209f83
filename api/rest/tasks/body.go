package tasks

import (
	"slices"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

func newTask(b shape.NewTask) (task.NewTask, error) {
	made := task.NewTask{
		Title: b.Title, Description: b.Description, Visibility: b.Visibility, Priority: b.Priority, Labels: b.Labels,
		BlockedBy: b.BlockedBy,
	}

	if b.AssigneeID != nil {
		id, ok := shape.ParseID(*b.AssigneeID)
		if !ok {
			return made, fault.Invalid("assignee_id", "this is not the id of a user")
		}
		made.AssigneeID = &id
	}

	return made, nil
}

// taskFor shows tasks to a user.
func taskFor(user account.User) func(task.Task) shape.Task {
	return func(t task.Task) shape.Task {
		body := shape.Task{
			ID: shape.ID(t.ID), WorkspaceID: shape.ID(t.WorkspaceID), Title: t.Title, Description: t.Description,
			Visibility: t.Visibility, Priority: t.Priority, Labels: t.Labels, Status: t.State, StatusSince: t.Since.UTC(),
			StatusDeadlineAt: shape.OptionalTime(t.DeadlineAt), ReleaseAt: shape.OptionalTime(t.ReleaseAt),
			LeaseExpiresAt: shape.OptionalTime(t.LeaseExpiresAt),
			CreatorID:      shape.ID(t.CreatorID), AssigneeID: shape.OptionalID(t.AssigneeID),
			BlockedBy: []string{}, Blockers: []shape.Blocker{}, Ready: t.Ready(),
			AllowedActions: tasks.Actions(user, t), AllowedStatuses: tasks.Targets(user, t),
			Submission: t.Submission, Approved: t.Approved, ReviewRequired: t.ReviewRequired,
			StartedAt: shape.OptionalTime(t.StartedAt), FinishedAt: shape.OptionalTime(t.FinishedAt),
			WaitsFor:   shape.Optional(t.WaitsFor()),
			WorkflowID: t.WorkflowID(), CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
		}

		if t.HeldBy(user.ID) && slices.Contains(lifecycle.TaskHeld, t.State) {
			body.FencingToken = &t.FencingToken
		}

		for _, blocker := range t.Blockers {
			body.BlockedBy = append(body.BlockedBy, shape.ID(blocker.ID))
			body.Blockers = append(body.Blockers, shape.Blocker{ID: shape.ID(blocker.ID), Status: blocker.Status})
		}
		return body
	}
}

// optionsFor shows a user the possible actions on tasks.
func optionsFor(user account.User) func(task.Task) shape.TaskOptions {
	return func(t task.Task) shape.TaskOptions {
		options := shape.List(tasks.Options(user, t), optionFrom)
		return shape.TaskOptions{TaskID: shape.ID(t.ID), Status: t.State, Items: options}
	}
}

func optionFrom(o lifecycle.TaskOption) shape.TaskOption {
	body := shape.TaskOption{
		Action: o.Action, To: o.To, Allowed: o.Refusal == nil, ChangesNothing: o.ChangesNothing,
		OnlyFor: append([]lifecycle.Role{}, o.OnlyFor...), Details: map[string]any{},
	}

	if o.Refusal != nil {
		refusal := fault.As(explained(o.Refusal))
		body.Code, body.Reason = &refusal.Code, refusal.Message
		if refusal.Details != nil {
			body.Details = refusal.Details
		}
	}

	return body
}
