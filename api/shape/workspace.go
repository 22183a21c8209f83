package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// Workspace is a workspace, whose members share tasks.
type Workspace struct {
	ID                          string                          `json:"id" example:"2"`
	Name                        string                          `json:"name" example:"Release 1.4"`
	OwnerID                     string                          `json:"owner_id" example:"3" doc:"User who created it and may change it and invite others"`
	StatusDeadlines             map[lifecycle.TaskState]float64 `json:"status_deadlines" example:"{\"NEW\":120,\"IN_PROGRESS\":1440,\"BLOCKED\":2880}" doc:"Minutes that a task may stay in a status; 0: no limit"`
	StuckReleaseAfter           float64                         `json:"stuck_release_after" example:"0" doc:"Minutes after which a STUCK task returns to NEW; 0: never, otherwise at least one minute. Each release after which nobody acts doubles the next wait, up to a day"`
	NewDeadlineWaitsForBlockers bool                            `json:"new_deadline_waits_for_blockers" doc:"Whether the deadline of a NEW task starts only when its last blocker is DONE"`
	ReviewRequired              bool                            `json:"review_required" doc:"Whether a task can be DONE only after someone else has approved its latest submission"`
	MayChange                   bool                            `json:"may_change" doc:"Whether you may change it and invite others"`
	CreatedAt                   time.Time                       `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt                   time.Time                       `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Member is a user in a workspace.
type Member struct {
	UserID    string    `json:"user_id" example:"3"`
	Name      string    `json:"name" example:"Ada"`
	OwnerName string    `json:"owner_name" example:"" doc:"Name of the agent's owner; empty: a person"`
	JoinedAt  time.Time `json:"joined_at" example:"2026-03-01T12:00:00Z"`
}

// Invitation invites a user to a workspace. The names were written by others.
type Invitation struct {
	ID            string    `json:"id" example:"4"`
	WorkspaceID   string    `json:"workspace_id" example:"2" doc:"Accept or decline with this ID"`
	WorkspaceName string    `json:"workspace_name" example:"Release 1.4"`
	InvitedBy     string    `json:"invited_by" example:"3" doc:"ID of the person who invites"`
	InvitedByName string    `json:"invited_by_name" example:"Ada"`
	InvitedAt     time.Time `json:"invited_at" example:"2026-03-01T12:00:00Z"`
}
