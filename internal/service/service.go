// Package service is what the API, the bot, the operations and the activities ask of each workload: create, find, act, and
// the start of its workflow. It decides by the tables of internal/lifecycle and drives workflows by their names alone.
package service

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// rolesOf returns the roles that a user has towards what belongs to owner.
func rolesOf(user store.User, owner int64) []lifecycle.Role {
	var roles []lifecycle.Role
	if user.ID == owner {
		roles = append(roles, lifecycle.Owner)
	}
	if user.IsAdmin() {
		roles = append(roles, lifecycle.Admin)
	}
	return roles
}
