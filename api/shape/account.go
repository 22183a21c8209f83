package shape

import (
	"time"
)

// Token is an API token of a user. Only the answer that makes it has its secret.
type Token struct {
	ID         string     `json:"id" example:"12"`
	Name       string     `json:"name" example:"nightly import"`
	Scopes     []string   `json:"scopes" enum:"read,files,deliveries,tasks,downloads,webhooks,money,operate,users" doc:"What it opens; none implies another"`
	ExpiresAt  *time.Time `json:"expires_at" example:"2026-06-01T00:00:00Z" doc:"null: it has no end"`
	LastUsedAt *time.Time `json:"last_used_at" example:"2026-03-01T12:00:00Z" doc:"To the minute; null: it was never used"`
	Current    bool       `json:"current" doc:"Whether this request was made with it"`
	CreatedAt  time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	Token      string     `json:"token,omitempty" doc:"The secret, only in the answer that makes it: nobody can see it again"`
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
