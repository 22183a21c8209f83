// Package service is what the API, the bot, the operations and the activities ask of each workload: create, find, act,
// and the start of its workflow. It decides by the tables of internal/lifecycle and drives workflows by their names
// alone.
package service

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// rolesOf returns the roles that a user has towards what belongs to owner.
func rolesOf(user account.User, owner int64) []lifecycle.Role {
	var roles []lifecycle.Role
	if user.ID == owner {
		roles = append(roles, lifecycle.Owner)
	}
	if user.IsAdmin() {
		roles = append(roles, lifecycle.Admin)
	}
	return roles
}

// pollUntil looks again and again, with growing pauses, until look is done or has failed, patience is over, or ctx
// ends.
func pollUntil(ctx context.Context, patience time.Duration, look func() (done bool, err error)) error {
	deadline := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		done, err := look()
		if done || err != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
