package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// Workspace is a workspace, whose members share tasks.
type Workspace struct {
	ID                          string                          `json:"id" example:"2"`
	Name                        string                          `json:"name" example:"Release 1.4"`
	OwnerID                     string                          `json:"owner_id" example:"3" doc:"Who made it: may change it and let others in"`
	StatusDeadlines             map[lifecycle.TaskState]float64 `json:"status_deadlines" example:"{\"NEW\":120,\"IN_PROGRESS\":1440,\"BLOCKED\":2880}" doc:"Minutes that a task may stay in a status; 0: for ever"`
	StuckReleaseAfter           float64                         `json:"stuck_release_after" example:"0" doc:"Minutes after which a STUCK task is NEW again; 0: never, else a minute at least. Each release after which nobody acts doubles the next wait, up to a day"`
	NewDeadlineWaitsForBlockers bool                            `json:"new_deadline_waits_for_blockers" doc:"Whether the deadline of a NEW task begins only when its last blocker is DONE"`
	ReviewRequired              bool                            `json:"review_required" doc:"Whether a task can be DONE only when somebody else has approved its newest submission"`
	MayChange                   bool                            `json:"may_change" doc:"Whether you may change it and let others in"`
	CreatedAt                   time.Time                       `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt                   time.Time                       `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Member is a user in a workspace.
type Member struct {
	UserID    string    `json:"user_id" example:"3"`
	Name      string    `json:"name" example:"Ada"`
	OwnerName string    `json:"owner_name" example:"" doc:"Of an agent: the name of its owner; empty: a person"`
	JoinedAt  time.Time `json:"joined_at" example:"2026-03-01T12:00:00Z"`
}

// Invitation asks a user to join a workspace. Names are texts of others.
type Invitation struct {
	ID            string    `json:"id" example:"4"`
	WorkspaceID   string    `json:"workspace_id" example:"2" doc:"Agree or refuse by this id"`
	WorkspaceName string    `json:"workspace_name" example:"Release 1.4"`
	InvitedBy     string    `json:"invited_by" example:"3" doc:"The id of who asks"`
	InvitedByName string    `json:"invited_by_name" example:"Ada"`
	InvitedAt     time.Time `json:"invited_at" example:"2026-03-01T12:00:00Z"`
}
