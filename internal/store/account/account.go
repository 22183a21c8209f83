// Package account keeps users, their tokens and rights, workspaces, and what administrators did.
package account

import "stagecoach/internal/store/core"

// partAccount is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// newAccountPart gives this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }
