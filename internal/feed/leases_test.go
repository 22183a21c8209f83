package feed_test

import (
	"context"
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

// processes are feeds of one record, as several APIs have them.
type processes struct {
	*testing.T
	store *store.Store
	db    *pgx.Conn
	ada   account.User
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	db := testdb.Connect(t, url)
	ada, err := s.CreateUser(t.Context(), account.User{Name: "Ada", Status: account.UserActive}, "Ada")
	if err != nil {
		t.Fatal(err)
	}

	return &processes{T: t, store: s, db: db, ada: ada}
}

// process makes a feed in which a user may have so many streams. It keeps its leases only when it runs, until stop.
func (p *processes) process(perUser int) (f *feed.Feed, run func() (stop func())) {
	f = feed.New(feed.Options{
		Store: p.store, PerUser: perUser, Total: 100, Permit: func(account.Holder) error { return nil },
	})
	return f, func() func() {
		ctx, cancel := context.WithCancel(p.Context())
		done := make(chan struct{})
		go func() { f.Run(ctx); close(done) }()
		stop := sync.OnceFunc(func() { cancel(); <-done })
		p.Cleanup(stop)
		return stop
	}
}

// follow opens a stream of a user whose token is their name; nil: the limit is reached.
func (p *processes) follow(f *feed.Feed, user account.User) *feed.Follower {
	p.Helper()
	follower, err := f.Follow(p.Context(), user, user.Name, nil)
	refusal := fault.As(err)
	switch {
	case err == nil:
		return follower
	case refusal != nil && refusal.Code == fault.QuotaExceeded && refusal.Details["limit"] == "streams":
		return nil
	}

	p.Error(err)
	return nil
}

// eventually waits until there is room for a stream, and leaves it open.
func (p *processes) eventually(f *feed.Feed, what string) {
	p.Helper()
	for patience := time.Now().Add(time.Minute); p.follow(f, p.ada) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(patience) {
			p.Fatal("in vain: ", what)
		}
	}
}

// TestStreamsAreLimitedOverAllProcesses opens streams of one user in two processes: one that ends makes room in both,
// what a killed process had lapses, and what a stopped one had is given back. Administrators have no limit.
func TestStreamsAreLimitedOverAllProcesses(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	killed, _ := p.process(3)
	lives, run := p.process(3)
	stop := run()
	late, _ := p.process(3)

	p.follow(killed, p.ada)
	p.follow(killed, p.ada)
	last := p.follow(lives, p.ada)
	for _, f := range []*feed.Feed{killed, lives, late} {
		if p.follow(f, p.ada) != nil {
			t.Fatal("a fourth stream is open")
		}
	}

	boss := account.User{ID: p.ada.ID + 1, Role: account.RoleAdmin, Status: account.UserActive}
	for range 5 {
		if p.follow(late, boss) == nil {
			t.Error("an administrator has a limit")
		}
	}

	last.Leave()
	p.eventually(late, "a stream that ended makes room elsewhere")
	if p.follow(lives, p.ada) != nil {
		t.Fatal("a fourth stream is open")
	}
	if _, err := p.db.Exec(t.Context(), `UPDATE stream_leases SET expires_at = now()`); err != nil { // half a minute later
		t.Fatal(err)
	}

	p.eventually(lives, "what a killed process had has lapsed")
	p.eventually(lives, "what a killed process had has lapsed")
	p.eventually(lives, "what a killed process had has lapsed")
	if p.follow(late, p.ada) != nil {
		t.Error("a fourth stream is open")
	}

	stop()
	p.eventually(late, "what a stopped process had is given back")
}

// TestLeasesAreRenewed lets leases come near their end, and go away, as after a crash of PostgreSQL.
func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	lives, run := p.process(2)
	run()
	p.follow(lives, p.ada)
	p.follow(lives, p.ada)

	for _, happens := range []string{`UPDATE stream_leases SET expires_at = now() + interval '15 seconds'`, `DELETE FROM stream_leases`} {
		if _, err := p.db.Exec(t.Context(), happens); err != nil {
			t.Fatal(err)
		}
		for patience, good := time.Now().Add(time.Minute), false; !good; time.Sleep(100 * time.Millisecond) {
			err := p.db.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM stream_leases
				WHERE user_id = $1 AND streams = 2 AND expires_at > now() + interval '20 seconds')`, p.ada.ID).Scan(&good)
			if err != nil || time.Now().After(patience) {
				t.Fatalf("after %s nobody renews: %v", happens, err)
			}
		}
	}
}

// TestRacingStreamsKeepToTheLimit opens many at once in two processes, while others end.
func TestRacingStreamsKeepToTheLimit(t *testing.T) {
	t.Parallel()
	const maximum = 4
	p := newProcesses(t)
	var feeds []*feed.Feed

	for range 2 {
		f, run := p.process(maximum)
		run()
		feeds = append(feeds, f)
	}

	var mu sync.Mutex
	open, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		open += by
		most = max(most, open)
	}

	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 10 {
				if follower := p.follow(feeds[i%2], p.ada); follower != nil {
					count(1)
					time.Sleep(20 * time.Millisecond)
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
