package tasks

import (
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// NewTaskBody is a task that is to be made. It is exported, as all embedded types here, for huma to see its fields.
type NewTaskBody struct {
	Title       string   `json:"title" minLength:"5" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Write the release notes"`
	Description string   `json:"description,omitempty" maxLength:"20000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"What has changed since 1.3"`
	Visibility  string   `json:"visibility,omitempty" enum:"public,private" default:"public" doc:"A private task is seen by its creator, its assignee and administrators only"`
	Priority    string   `json:"priority,omitempty" enum:"low,normal,high,critical" default:"normal"`
	Labels      []string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]"`
	AssigneeID  *string  `json:"assignee_id,omitempty" nullable:"true" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a member" example:"3" doc:"Then this member begins it, and nobody else"`
	BlockedBy   []string `json:"blocked_by,omitempty" maxItems:"100" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"11\"]" doc:"Tasks of the workspace that have to be DONE before this one may begin; it never changes"`
}

func (b NewTaskBody) task() (task.NewTask, error) {
	made := task.NewTask{
		Title: b.Title, Description: b.Description, Visibility: b.Visibility, Priority: b.Priority, Labels: b.Labels,
		BlockedBy: b.BlockedBy,
	}

	if b.AssigneeID != nil {
		id, ok := shape.ParseID(*b.AssigneeID)
		if !ok {
			return made, fault.New(fault.Validation, "this is not the id of a user").WithField("assignee_id")
		}
		made.AssigneeID = &id
	}

	return made, nil
}

func taskFrom(user account.User, t task.Task) shape.Task {
	body := shape.Task{
		ID: shape.ID(t.ID), WorkspaceID: shape.ID(t.WorkspaceID), Title: t.Title, Description: t.Description,
		Visibility: t.Visibility, Priority: t.Priority, Labels: t.Labels, Status: t.State, StatusSince: t.Since.UTC(),
		StatusDeadlineAt: shape.OptionalTime(t.DeadlineAt), ReleaseAt: shape.OptionalTime(t.ReleaseAt),
		CreatorID: shape.ID(t.CreatorID), AssigneeID: shape.OptionalID(t.AssigneeID),
		BlockedBy: []string{}, Blockers: []shape.Blocker{}, Ready: t.Ready(),
		AllowedActions: service.TaskActions(user, t), AllowedStatuses: service.TaskTargets(user, t),
		StartedAt: shape.OptionalTime(t.StartedAt), FinishedAt: shape.OptionalTime(t.FinishedAt),
		WorkflowID: t.WorkflowID(), CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
	}

	for _, blocker := range t.Blockers {
		body.BlockedBy = append(body.BlockedBy, shape.ID(blocker.ID))
		body.Blockers = append(body.Blockers, shape.Blocker{ID: shape.ID(blocker.ID), Status: blocker.Status})
	}
	return body
}
