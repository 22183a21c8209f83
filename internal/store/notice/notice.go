// Package notice stores what people are notified of: events, notifications, live messages, alerts.
package notice

import (
	"sync"
	"time"

	"stagecoach/internal/store/core"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB

	mu        sync.Mutex
	unwritten map[string]time.Time // incidents that the database did not accept, with the time since which they are open
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db, unwritten: map[string]time.Time{}} }
