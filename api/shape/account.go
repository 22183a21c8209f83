package shape

import (
	"time"
)

// Token is a user's API token. The secret is only in the response that creates it.
type Token struct {
	ID         string     `json:"id" example:"12"`
	Name       string     `json:"name" example:"nightly import"`
	Scopes     []string   `json:"scopes" enum:"read,library,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"What it permits; no scope implies another, except that read includes library"`
	ExpiresAt  *time.Time `json:"expires_at" example:"2026-06-01T00:00:00Z" doc:"null: it never expires"`
	LastUsedAt *time.Time `json:"last_used_at" example:"2026-03-01T12:00:00Z" doc:"To the minute; null: never used"`
	Current    bool       `json:"current" doc:"Whether this request uses it"`
	CreatedAt  time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	ParentID   *string    `json:"parent_id" example:"4" doc:"The token that created it and that it ends with; null: none"`
	Token      string     `json:"token,omitempty" doc:"The secret, only in the response that creates it: it is never shown again"`
}

// Descendants are what a token has created, directly or indirectly: it ends with the token.
type Descendants struct {
	Tokens   int64        `json:"tokens" example:"2"`
	Agents   int64        `json:"agents" example:"1"`
	Webhooks int64        `json:"webhooks" example:"0"`
	Users    int64        `json:"users" example:"0" doc:"People created, or promoted to administrator, with it. They stay: block those who should not have access"`
	Items    []Descendant `json:"items" doc:"At most 200 of them"`
}

// Descendant is something that a token has created.
type Descendant struct {
	Kind   string `json:"kind" enum:"token,agent,webhook,user"`
	ID     string `json:"id" example:"12"`
	Name   string `json:"name" example:"nightly import" doc:"Empty for a webhook"`
	UserID string `json:"user_id" example:"3" doc:"Its owner"`
}

// Overview is what is in progress.
type Overview struct {
	Live         map[string]map[string]int64 `json:"live" example:"{\"delivery\":{\"QUEUED\":2}}" doc:"Number per workload and state; empty and final states are omitted"`
	WaitingUsers int64                       `json:"waiting_users" example:"0" doc:"People waiting for access; for administrators only; up to 10,000"`
}

// SignInLink signs a person in on the pages, once.
type SignInLink struct {
	URL       string    `json:"url" doc:"Open it in a browser; it is never shown again"`
	ExpiresAt time.Time `json:"expires_at" example:"2026-03-01T12:05:00Z"`
}

// Agent is a program that works for a user. A token is only in the response that creates it.
type Agent struct {
	ID        string    `json:"id" example:"9"`
	Name      string    `json:"name" example:"night shift"`
	Status    string    `json:"status" enum:"ACTIVE,BLOCKED" doc:"BLOCKED: it has ended or its owner is blocked"`
	Token     string    `json:"token,omitempty" doc:"Only in the response that creates it: it is never shown again"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

// User is a person or a program. A token is only in the response that creates it.
type User struct {
	ID          string     `json:"id" example:"3"`
	Name        string     `json:"name" example:"Ada"`
	TelegramID  *string    `json:"telegram_id" example:"123456789" doc:"null: no Telegram account here"`
	Language    string     `json:"language" enum:"en,ru"`
	Role        string     `json:"role" enum:"USER,ADMIN"`
	Status      string     `json:"status" enum:"PENDING,ACTIVE,BLOCKED"`
	OwnerID     *string    `json:"owner_id" example:"2" doc:"Owner of the agent; null: a person, or a program without an owner"`
	LogName     string     `json:"log_name,omitempty" example:"5b1f0a9c3d7e2468" doc:"Pseudonym of the user in the logs; only in the user responses for administrators"`
	Token       string     `json:"token,omitempty" doc:"Only in the response that creates it: it is never shown again"`
	CreatedAt   time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	ForgottenAt *time.Time `json:"forgotten_at" doc:"When the person was anonymised; null: never"`
}
