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
	ActorID   *string   `json:"actor_id" example:"3" doc:"User who acted; null: the system"`
	Action    string    `json:"action" example:"change-user" doc:"Operation ID, or a bot command"`
	Subject   string    `json:"subject" example:"user/7" doc:"Subject, if there is only one; for several refusals, that of the first"`
	Outcome   string    `json:"outcome" enum:"done,refused"`
	Door      string    `json:"door" enum:"bot,http,cli,system"`
	Count     int64     `json:"count" example:"1" doc:"Number of refusals of the same actor, action and interface within a minute, which share one entry; otherwise 1"`
	Detail    string    `json:"detail" example:"ended 2 tokens, 1 agents, 0 webhooks" doc:"More about the outcome, such as what ended with a token; often empty"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

// Examination is the result of doctor.
type Examination struct {
	Works  bool    `json:"works" doc:"Whether each check works or is off"`
	Checks []Check `json:"checks"`
}

// Check is how well a program reaches one system.
type Check struct {
	System  string  `json:"system" example:"telegram"`
	State   string  `json:"state" enum:"works,refused,unreachable,unverified,off" doc:"unverified: only a renewal or a purchase can verify it"`
	Account *string `json:"account" example:"@stagecoach_bot (7000000001)" doc:"The service's own identity there; null: unknown"`
	Detail  string  `json:"detail" example:"api.telegram.org: files up to 50 MB"`
	Code    *string `json:"code" example:"TELEGRAM_UNAUTHORIZED" doc:"null: no failure"`
	Next    *string `json:"next" doc:"What to do; null: nothing"`
}

// Finding is one incident in which the record and Temporal differed.
type Finding struct {
	ID         string     `json:"id" example:"5"`
	FoundAt    time.Time  `json:"found_at" example:"2026-03-01T12:00:00Z"`
	Workload   string     `json:"workload" enum:"delivery,task,download,transaction"`
	EntityID   string     `json:"entity_id" example:"17" doc:"Entity ID; if it has no row, the one in its workflow ID"`
	WorkflowID string     `json:"workflow_id" example:"task/17"`
	RunID      *string    `json:"run_id" example:"01a1f9fa-abe8-7695-b995-207e39dc6be5" doc:"null: no workflow"`
	Finding    string     `json:"finding" enum:"not_started,terminated,too_long,timed_out,ended,missing,reset,stale,no_row,over" doc:"How the record and Temporal differed"`
	Done       *string    `json:"done" example:"started" doc:"What was done about it: started, ended, terminated, refreshed or vanished; null: nothing yet"`
	DoneAt     *time.Time `json:"done_at" example:"2026-03-01T12:00:01Z"`
}

// Health is the response of /health.
type Health struct {
	OK bool `json:"ok"`
}

// Ready is the response of /ready.
type Ready struct {
	Postgres bool `json:"postgres"`
	Temporal bool `json:"temporal"`
}
