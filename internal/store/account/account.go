// Package account stores users, their tokens and rights, workspaces, and the administrators' audit log.
package account

import "stagecoach/internal/store/core"

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }
