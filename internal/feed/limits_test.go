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

// record is one record that feeds read, and a user in it.
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

// process makes a feed in which a user may have so many streams.
func (r *record) process(perUser int) *feed.Feed {
	return feed.New(feed.Options{
		Events: r.store.Notices, Tokens: r.store.Accounts, Webhooks: r.store.Webhooks,
		PerUser: perUser, Total: 100, Permit: func(account.Holder) error { return nil },
	})
}

// follow opens a stream of a user whose token is their name; nil: the limit is reached.
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
