package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// Task is a task as one caller sees it.
type Task struct {
	ID               string                 `json:"id" example:"12"`
	WorkspaceID      string                 `json:"workspace_id" example:"2"`
	Title            string                 `json:"title" example:"Write the release notes"`
	Description      string                 `json:"description" example:"What has changed since 1.3"`
	Visibility       string                 `json:"visibility" enum:"public,private"`
	Priority         string                 `json:"priority" enum:"low,normal,high,critical"`
	Labels           []string               `json:"labels" example:"[\"docs\"]"`
	Status           lifecycle.TaskState    `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	StatusSince      time.Time              `json:"status_since" example:"2026-03-01T12:00:00Z" doc:"When it entered this status"`
	StatusDeadlineAt *time.Time             `json:"status_deadline_at" example:"2026-03-01T14:00:00Z" doc:"When it becomes STUCK; null: never"`
	LeaseExpiresAt   *time.Time             `json:"lease_expires_at" example:"2026-03-01T12:40:00Z" doc:"When it becomes STUCK unless its assignee sends a heartbeat; null: the claim has no lease"`
	FencingToken     *int64                 `json:"fencing_token" example:"1772366400000" doc:"Number of your claim: actions that carry it are refused once the claim has ended. null: you are not working on the task"`
	ReleaseAt        *time.Time             `json:"release_at" example:"2026-03-01T15:00:00Z" doc:"When it stops being STUCK automatically; null: never"`
	CreatorID        string                 `json:"creator_id" example:"3"`
	AssigneeID       *string                `json:"assignee_id" example:"4" doc:"null: unassigned"`
	BlockedBy        []string               `json:"blocked_by" example:"[\"11\"]"`
	Blockers         []Blocker              `json:"blockers" doc:"The blockers with their statuses"`
	Ready            bool                   `json:"ready" doc:"Whether it can be claimed now"`
	AllowedActions   []lifecycle.TaskAction `json:"allowed_actions" example:"[\"claim\"]" doc:"Actions allowed to you now: claim, escalate, takeover, status, submit, approve, reject, edit"`
	AllowedStatuses  []lifecycle.TaskState  `json:"allowed_statuses" example:"[\"CANCELLED\"]" doc:"Statuses that the action status may set"`
	Submission       *int64                 `json:"submission" example:"5" doc:"Number of the assignee's latest submission; null: none"`
	Approved         bool                   `json:"approved" doc:"Whether someone else has approved this submission"`
	ReviewRequired   bool                   `json:"review_required" doc:"Whether the workspace requires an approval before DONE"`
	StartedAt        *time.Time             `json:"started_at" example:"2026-03-01T12:30:00Z" doc:"When it first became IN_PROGRESS"`
	FinishedAt       *time.Time             `json:"finished_at" example:"2026-03-01T13:00:00Z" doc:"When it became DONE or CANCELLED"`
	WaitsFor         *string                `json:"waits_for" example:"claim" doc:"claim: someone to claim it; blockers: the tasks in blocked_by that are not DONE; assignee: its assignee; review: someone to approve or reject the submission; takeover: someone to take it over; null: it has ended"`
	WorkflowID       string                 `json:"workflow_id" example:"task/12" doc:"Workflow ID in Temporal"`
	CreatedAt        time.Time              `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt        time.Time              `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Ended reports whether the task's status is final.
func (t Task) Ended() bool { return lifecycle.Task.Terminal(t.Status) }

// Blocker is a task that blocks another one.
type Blocker struct {
	ID     string              `json:"id" example:"11"`
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"A CANCELLED task never becomes DONE: its dependents cannot start"`
}

// TaskRequest requests a task.
type TaskRequest struct {
	WorkspaceID string `json:"workspace_id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2"`
	NewTask
}

// NewTask is a task to be created.
type NewTask struct {
	Title       string   `json:"title" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Write the release notes"`
	Description string   `json:"description,omitempty" maxLength:"20000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"What has changed since 1.3"`
	Visibility  string   `json:"visibility,omitempty" enum:"public,private" default:"public" doc:"private: visible only to its creator, its assignee and administrators"`
	Priority    string   `json:"priority,omitempty" enum:"low,normal,high,critical" default:"normal"`
	Labels      []string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]"`
	AssigneeID  *string  `json:"assignee_id,omitempty" nullable:"true" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a member" example:"3" doc:"Only this member may start the task"`
	BlockedBy   []string `json:"blocked_by,omitempty" maxItems:"100" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"11\"]" doc:"Tasks of the workspace that must be DONE before this one may start; it never changes"`
}

// TaskStats are a workspace's statistics for one period.
type TaskStats struct {
	WorkspaceID     string     `json:"workspace_id" example:"2"`
	Period          string     `json:"period" enum:"day,week,month,all"`
	Since           *time.Time `json:"since" example:"2026-03-01T12:00:00Z" doc:"Start of the period; null: since the workspace was created"`
	Created         int64      `json:"created" example:"20"`
	Done            int64      `json:"done" example:"17"`
	Cancelled       int64      `json:"cancelled" example:"1"`
	LeadTime        *float64   `json:"lead_time_seconds" example:"5400" doc:"Average from creation to DONE; null if none was done, here and below"`
	LeadTimeMedian  *float64   `json:"lead_time_median_seconds" example:"3600"`
	CycleTime       *float64   `json:"cycle_time_seconds" example:"1800" doc:"Average from the first IN_PROGRESS to DONE"`
	CycleTimeMedian *float64   `json:"cycle_time_median_seconds" example:"1200"`
	Takeovers       int64      `json:"takeovers" example:"2"`
	Escalations     int64      `json:"escalations" example:"1"`
	Expiries        int64      `json:"expiries" example:"3" doc:"Missed deadlines"`
	Partial         bool       `json:"partial" doc:"10,000 or more tasks changed in the period: figures cover the 10,000 changed last"`
	Days            []TaskDay  `json:"days" doc:"Each day of the period, at most the last 31"`
}

// TaskDay are the statistics of one day.
type TaskDay struct {
	Day             string   `json:"day" example:"2026-03-01" doc:"In UTC"`
	Created         int64    `json:"created" example:"4"`
	Done            int64    `json:"done" example:"3"`
	LeadTimeMedian  *float64 `json:"lead_time_median_seconds" example:"3600" doc:"For tasks done on this day; null if there are none, here and below"`
	CycleTimeMedian *float64 `json:"cycle_time_median_seconds" example:"1200"`
}

// TaskBatch are the tasks created by one request.
type TaskBatch struct {
	Items []BatchTask `json:"items" doc:"In the order of the request"`
}

// BatchTask is one task of a batch.
type BatchTask struct {
	Ref string `json:"ref" example:"notes" doc:"As in the request"`
	Task
}
