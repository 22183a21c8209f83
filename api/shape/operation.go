package shape

import (
	"time"
)

// Alert is an incident that administrators are notified of.
type Alert struct {
	ID         string     `json:"id" example:"5"`
	Kind       string     `json:"kind" example:"storage_unreachable"`
	OpenedAt   time.Time  `json:"opened_at" example:"2026-03-01T12:00:00Z"`
	ResolvedAt *time.Time `json:"resolved_at" example:"2026-03-01T12:20:00Z" doc:"null: it has not ended"`
}

// Audit is an entry of the audit log.
type Audit struct {
	ID        string    `json:"id" example:"5"`
	ActorID   *string   `json:"actor_id" example:"3" doc:"The user who tried; null for the system"`
	Action    string    `json:"action" example:"change-user" doc:"The id of an operation, or a command of the bot"`
	Subject   string    `json:"subject" example:"user/7" doc:"What it was about, where that is one thing"`
	Outcome   string    `json:"outcome" enum:"done,refused"`
	Door      string    `json:"door" enum:"bot,http,cli,system"`
	Detail    string    `json:"detail" example:"ended 2 tokens, 1 agents, 0 webhooks" doc:"More about the outcome, such as what has ended with a token; often empty"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

// Examination is what a doctor has found.
type Examination struct {
	Works  bool    `json:"works" doc:"Whether each check works or is off"`
	Checks []Check `json:"checks"`
}

// Check is how a program reaches one system.
type Check struct {
	System  string  `json:"system" example:"telegram"`
	State   string  `json:"state" enum:"works,refused,unreachable,unverified,off" doc:"unverified: only a renewal or a purchase would tell"`
	Account *string `json:"account" example:"@stagecoach_bot (7000000001)" doc:"Who the program is there; null: not known"`
	Detail  string  `json:"detail" example:"api.telegram.org: files up to 50 MB"`
	Code    *string `json:"code" example:"TELEGRAM_UNAUTHORIZED" doc:"null: there is no failure"`
	Next    *string `json:"next" doc:"What to do; null: nothing"`
}

// Finding is one incident in which the record and Temporal differed.
type Finding struct {
	ID         string     `json:"id" example:"5"`
	FoundAt    time.Time  `json:"found_at" example:"2026-03-01T12:00:00Z"`
	Workload   string     `json:"workload" enum:"delivery,task,download,transaction"`
	EntityID   string     `json:"entity_id" example:"17" doc:"The entity's id; of one without a row, what its workflow's id names"`
	WorkflowID string     `json:"workflow_id" example:"task/17"`
	RunID      *string    `json:"run_id" example:"01a1f9fa-abe8-7695-b995-207e39dc6be5" doc:"null when there is no workflow"`
	Finding    string     `json:"finding" enum:"not_started,terminated,too_long,timed_out,ended,missing,reset,stale,no_row,over" doc:"How the record and Temporal differed"`
	Done       *string    `json:"done" example:"started" doc:"What was done about it: started, ended, terminated, refreshed or vanished; null: nothing yet"`
	DoneAt     *time.Time `json:"done_at" example:"2026-03-01T12:00:01Z"`
}

// Health is the answer of /health.
type Health struct {
	OK bool `json:"ok"`
}

// Ready is the answer of /ready.
type Ready struct {
	Postgres bool `json:"postgres"`
	Temporal bool `json:"temporal"`
}
