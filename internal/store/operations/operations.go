// Package operations keeps what the program keeps about itself: counts, findings, checks, processes, and the age of rows.
package operations

import "stagecoach/internal/store/core"

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New gives this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }
