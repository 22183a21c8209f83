// Package notice stores what people are notified of: events, notices, live messages, alerts.
package notice

import "stagecoach/internal/store/core"

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }
