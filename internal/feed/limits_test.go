package feed_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/feed"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// record is one record read by feeds, and a user in it.
type record struct {
	*testing.T
	store *store.Store
	db    *pgx.Conn
	ada   account.User
}

func newRecord(t *testing.T) *record {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	db := testdb.Connect(t, url)
	ada, err := s.Accounts.CreateUser(t.Context(), account.User{Name: "Ada", Status: account.UserActive}, "Ada")
	if err != nil {
		t.Fatal(err)
	}

	return &record{T: t, store: s, db: db, ada: ada}
}

// process makes a feed in which a person may have this many streams.
func (r *record) process(perPerson int) *feed.Feed {
	return feed.New(feed.Options{
		Events: r.store.Notices, Tokens: r.store.Accounts, Webhooks: r.store.Webhooks,
		PerPerson: perPerson, Total: 100, Permit: func(account.Holder) error { return nil },
	})
}

// follow opens a stream for a user whose token is their name; nil: the limit is reached.
func (r *record) follow(f *feed.Feed, user account.User) *feed.Follower {
	r.Helper()
	follower, err := f.Follow(r.Context(), user, user.Name, nil)
	refusal := fault.As(err)
	switch {
	case err == nil:
		return follower
	case refusal != nil && refusal.Code == fault.QuotaExceeded && refusal.Details["limit"] == "streams":
		return nil
	}

	r.Error(err)
	return nil
}

// TestStreamsOfAUserAreLimited opens streams of one user: one that ends makes room. Administrators have no limit, and
// another process has its own.
func TestStreamsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	f, other := r.process(3), r.process(3)
	r.follow(f, r.ada)
	r.follow(f, r.ada)
	last := r.follow(f, r.ada)
	if r.follow(f, r.ada) != nil {
		t.Fatal("a fourth stream is open")
	}

	if r.follow(other, r.ada) == nil {
		t.Error("another process counts the streams of this one")
	}

	boss := account.User{ID: r.ada.ID + 1, Role: account.RoleAdmin, Status: account.UserActive}
	for range 5 {
		if r.follow(f, boss) == nil {
			t.Error("an administrator has a limit")
		}
	}

	last.Leave()
	if r.follow(f, r.ada) == nil {
		t.Error("a stream that ended makes no room")
	}
	if r.follow(f, r.ada) != nil {
		t.Error("a fourth stream is open")
	}
}

// TestAgentsShareTheirOwnersStreams counts the streams of a person and of their agents together. Those of an
// administrator leave an agent the whole limit.
func TestAgentsShareTheirOwnersStreams(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	f := r.process(3)
	boss := account.User{ID: r.ada.ID + 1, Role: account.RoleAdmin, Status: account.UserActive}
	agent := func(id int64, owner account.User) account.User {
		return account.User{ID: id, OwnerID: &owner.ID, Status: account.UserActive}
	}
	one, two, helper := agent(11, r.ada), agent(12, r.ada), agent(13, boss)

	first := r.follow(f, one)
	r.follow(f, one)
	r.follow(f, two)
	if r.follow(f, two) != nil || r.follow(f, r.ada) != nil {
		t.Error("a person and two agents have more than three streams")
	}

	first.Leave()
	if r.follow(f, r.ada) == nil {
		t.Error("a stream of an agent that ended makes no room for the owner")
	}

	for range 3 {
		r.follow(f, boss)
	}
	for range 3 {
		if r.follow(f, helper) == nil {
			t.Error("an administrator's streams count against an agent")
		}
	}
	if r.follow(f, helper) != nil {
		t.Error("an administrator's agent has no limit")
	}
}

// TestRacingStreamsKeepToTheLimit opens many at once, while others end.
func TestRacingStreamsKeepToTheLimit(t *testing.T) {
	t.Parallel()
	const maximum = 4
	r := newRecord(t)
	f := r.process(maximum)

	var mu sync.Mutex
	open, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		open += by
		most = max(most, open)
	}

	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 {
				if follower := r.follow(f, r.ada); follower != nil {
					count(1)
					time.Sleep(time.Millisecond)
					count(-1)
					follower.Leave()
				}
			}
		})
	}

	all.Wait()
	if most > maximum || most == 0 {
		t.Errorf("%d streams were open at once, want %d at most", most, maximum)
	}
}
