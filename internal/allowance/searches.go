package allowance

import (
	"context"

	"stagecoach/internal/store/account"
)

// How many searches run at a time: a release search may hold one answer per indexer in memory.
const (
	searchesOfUsers  = 8
	searchesOfAdmins = 2
	searchesOfOne    = 2 // per user, with the user's agents
)

// searchRate is how often a user may search: each search may be a request to every indexer, and indexers ban frequent
// callers.
var searchRate = Rate{PerSecond: 0.5, Burst: 10}

// NewTaskSearches makes a process's limit for searches in tasks, with the same numbers: each uses a connection to the
// record.
func NewTaskSearches() *Room {
	return NewRoom(LimitSearches, searchesOfOne, searchesOfUsers, searchesOfAdmins)
}

// Searches limits this process's release searches: how often a user searches, and how many run at a time. It is safe
// for concurrent use; nil: no limit.
type Searches struct {
	rates Rates[int64]
	room  *Room
}

// NewSearches makes a process's limit.
func NewSearches() *Searches {
	return &Searches{room: NewRoom(LimitSearches, searchesOfOne, searchesOfUsers, searchesOfAdmins)}
}

// Begin counts a user's search, waiting briefly for others to end; call end afterwards. RATE_LIMITED says when to
// retry.
func (s *Searches) Begin(ctx context.Context, user account.User) (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if wait := s.rates.Take(user.PersonID(), searchRate); wait > 0 {
		return nil, tooMany(LimitSearches, wait)
	}
	place := s.room.Hold(user)
	return place.Release, place.Take(ctx, 1)
}
