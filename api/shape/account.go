package shape

import (
	"time"
)

// Token is an API token of a user. Only the answer that makes it has its secret.
type Token struct {
	ID         string     `json:"id" example:"12"`
	Name       string     `json:"name" example:"nightly import"`
	Scopes     []string   `json:"scopes" enum:"read,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"What it opens; none implies another"`
	ExpiresAt  *time.Time `json:"expires_at" example:"2026-06-01T00:00:00Z" doc:"null: it has no end"`
	LastUsedAt *time.Time `json:"last_used_at" example:"2026-03-01T12:00:00Z" doc:"To the minute; null: it was never used"`
	Current    bool       `json:"current" doc:"Whether this request was made with it"`
	CreatedAt  time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	ParentID   *string    `json:"parent_id" example:"4" doc:"The token whose request has made it: it ends with that one; null: none"`
	Token      string     `json:"token,omitempty" doc:"The secret, only in the answer that makes it: nobody can see it again"`
}

// Descendants are what a token has made, and what that has made, and so on: it ends with the token.
type Descendants struct {
	Tokens   int64        `json:"tokens" example:"2"`
	Agents   int64        `json:"agents" example:"1"`
	Webhooks int64        `json:"webhooks" example:"0"`
	Users    int64        `json:"users" example:"0" doc:"People whom it has made, or made administrators. They stay: block those who should not be here"`
	Items    []Descendant `json:"items" doc:"At most 200 of them"`
}

// Descendant is something that a token has made.
type Descendant struct {
	Kind   string `json:"kind" enum:"token,agent,webhook,user"`
	ID     string `json:"id" example:"12"`
	Name   string `json:"name" example:"nightly import" doc:"Empty for a webhook"`
	UserID string `json:"user_id" example:"3" doc:"Whose it is"`
}

// Overview is what is under way.
type Overview struct {
	Live         map[string]map[string]int64 `json:"live" example:"{\"delivery\":{\"QUEUED\":2}}" doc:"Of each workload, how many there are in each state; states without any, and ends, are left out"`
	WaitingUsers int64                       `json:"waiting_users" example:"0" doc:"People who wait for access, for administrators; up to 10,000"`
}

// SignInLink signs a person in on the pages, once.
type SignInLink struct {
	URL       string    `json:"url" doc:"Open it in a browser; nobody can see it again"`
	ExpiresAt time.Time `json:"expires_at" example:"2026-03-01T12:05:00Z"`
}

// Agent is a program that works for a user. Only the answer that makes a token has it.
type Agent struct {
	ID        string    `json:"id" example:"9"`
	Name      string    `json:"name" example:"night shift"`
	Status    string    `json:"status" enum:"ACTIVE,BLOCKED" doc:"BLOCKED: it has ended, or its owner is blocked"`
	Token     string    `json:"token,omitempty" doc:"Only in the answer that makes it: nobody can see it again"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

// User is a person or a program. Only the answer that makes a token has it.
type User struct {
	ID          string     `json:"id" example:"3"`
	Name        string     `json:"name" example:"Ada"`
	TelegramID  *string    `json:"telegram_id" example:"123456789" doc:"null for one who has no Telegram account here"`
	Language    string     `json:"language" enum:"en,ru"`
	Role        string     `json:"role" enum:"USER,ADMIN"`
	Status      string     `json:"status" enum:"PENDING,ACTIVE,BLOCKED"`
	OwnerID     *string    `json:"owner_id" example:"2" doc:"Whose agent it is; null for a person, or a program without an owner"`
	LogName     string     `json:"log_name,omitempty" example:"5b1f0a9c3d7e2468" doc:"How the logs name the user; only where administrators list or see users"`
	Token       string     `json:"token,omitempty" doc:"Only in the answer that makes it: nobody can see it again"`
	CreatedAt   time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	ForgottenAt *time.Time `json:"forgotten_at" doc:"When the person was made anonymous; null: never"`
}
