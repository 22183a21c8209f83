package store

import (
	"context"
	"time"
)

// Switch stops payments while it is on.
type Switch struct {
	Name    string     `db:"name"`
	Since   *time.Time `db:"since"` // nil: off
	Reason  string     `db:"reason"`
	ByUser  *int64     `db:"by_user"`  // nil: the program
	RetryAt *time.Time `db:"retry_at"` // of a hold: when one purchase may try
}

// On says whether the switch stops payments.
func (s Switch) On() bool { return s.Since != nil }

// The switches.
const (
	SwitchPause = "pause" // by an operator: no payment is signed
	SwitchHold  = "hold"  // by the program: no purchase is signed, but for one that tries after retry_at
)

// Switches lists both switches, on or off.
func (s *Store) Switches(ctx context.Context) ([]Switch, error) {
	panic("not built yet") // the API comes first
}

// Pause stops all payments: once it returns nothing is signed any more. What is signed already goes on being proven.
func (s *Store) Pause(ctx context.Context, by *int64, reason string) error {
	panic("not built yet") // the API comes first
}

// Resume ends a pause, and a hold besides.
func (s *Store) Resume(ctx context.Context) error {
	panic("not built yet") // the API comes first
}

// Hold stops purchases for a reason that only time or a person can mend. A second hold renews reason and retryAt; since stays.
func (s *Store) Hold(ctx context.Context, reason string, retryAt time.Time) error {
	panic("not built yet") // the API comes first
}
