package rest

import (
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
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

func (b NewTaskBody) task() (store.NewTask, error) {
	made := store.NewTask{
		Title: b.Title, Description: b.Description, Visibility: b.Visibility, Priority: b.Priority, Labels: b.Labels,
		BlockedBy: b.BlockedBy,
	}

	if b.AssigneeID != nil {
		id, ok := parseID(*b.AssigneeID)
		if !ok {
			return made, fault.New(fault.Validation, "this is not the id of a user").WithField("assignee_id")
		}
		made.AssigneeID = &id
	}

	return made, nil
}

// TaskBody is a task as one caller sees it.
type TaskBody struct {
	ID               string                 `json:"id" example:"12"`
	WorkspaceID      string                 `json:"workspace_id" example:"2"`
	Title            string                 `json:"title" example:"Write the release notes"`
	Description      string                 `json:"description" example:"What has changed since 1.3"`
	Visibility       string                 `json:"visibility" enum:"public,private"`
	Priority         string                 `json:"priority" enum:"low,normal,high,critical"`
	Labels           []string               `json:"labels" example:"[\"docs\"]"`
	Status           lifecycle.TaskState    `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	StatusSince      time.Time              `json:"status_since" example:"2026-03-01T12:00:00Z" doc:"When the status was entered"`
	StatusDeadlineAt *time.Time             `json:"status_deadline_at" example:"2026-03-01T14:00:00Z" doc:"When it becomes STUCK; null: never"`
	ReleaseAt        *time.Time             `json:"release_at" example:"2026-03-01T15:00:00Z" doc:"When it stops being STUCK by itself; null: never"`
	CreatorID        string                 `json:"creator_id" example:"3"`
	AssigneeID       *string                `json:"assignee_id" example:"4" doc:"null when nobody has it"`
	BlockedBy        []string               `json:"blocked_by" example:"[\"11\"]"`
	Blockers         []blockerBody          `json:"blockers" doc:"The same tasks with their statuses"`
	Ready            bool                   `json:"ready" doc:"Whether it can be claimed now"`
	AllowedActions   []lifecycle.TaskAction `json:"allowed_actions" example:"[\"claim\"]" doc:"What you may do now: claim, escalate, takeover, status"`
	AllowedStatuses  []lifecycle.TaskState  `json:"allowed_statuses" example:"[\"CANCELLED\"]" doc:"What you may make of it by the action status"`
	StartedAt        *time.Time             `json:"started_at" example:"2026-03-01T12:30:00Z" doc:"When it was first IN_PROGRESS"`
	FinishedAt       *time.Time             `json:"finished_at" example:"2026-03-01T13:00:00Z" doc:"When it was DONE or CANCELLED"`
	WorkflowID       string                 `json:"workflow_id" example:"task/12" doc:"In Temporal"`
	CreatedAt        time.Time              `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt        time.Time              `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

type blockerBody struct {
	ID     string              `json:"id" example:"11"`
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"A CANCELLED task is never DONE: what waits for it cannot begin"`
}

func taskFrom(user store.User, t store.Task) TaskBody {
	body := TaskBody{
		ID: formatID(t.ID), WorkspaceID: formatID(t.WorkspaceID), Title: t.Title, Description: t.Description,
		Visibility: t.Visibility, Priority: t.Priority, Labels: t.Labels, Status: t.State, StatusSince: utc(t.Since),
		StatusDeadlineAt: optionalUTC(t.DeadlineAt), ReleaseAt: optionalUTC(t.ReleaseAt),
		CreatorID: formatID(t.CreatorID), AssigneeID: formatOptionalID(t.AssigneeID),
		BlockedBy: []string{}, Blockers: []blockerBody{}, Ready: t.Ready(),
		AllowedActions: service.TaskActions(user, t), AllowedStatuses: service.TaskTargets(user, t),
		StartedAt: optionalUTC(t.StartedAt), FinishedAt: optionalUTC(t.FinishedAt),
		WorkflowID: t.WorkflowID(), CreatedAt: utc(t.CreatedAt), UpdatedAt: utc(t.UpdatedAt),
	}

	for _, blocker := range t.Blockers {
		body.BlockedBy = append(body.BlockedBy, formatID(blocker.ID))
		body.Blockers = append(body.Blockers, blockerBody{formatID(blocker.ID), blocker.Status})
	}
	return body
}
