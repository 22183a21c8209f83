package feed_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"stagecoach/internal/feed"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// TestFollowersWakeUpInGroups lets two hundred followers wait for an event: they get it one group after the other, and
// all of them the same bytes. A single follower gets it as soon as it was read.
func TestFollowersWakeUpInGroups(t *testing.T) {
	t.Parallel()
	const followers, least = 200, 25 * time.Millisecond // eight groups, five milliseconds between two
	p := newRecord(t)
	f := p.reading(nil)
	boss := p.boss()

	type arrival struct {
		at   time.Time
		text []byte
	}

	arrivals := make([]arrival, followers)
	var ready, all sync.WaitGroup
	for i := range followers {
		ready.Add(1)
		all.Go(func() {
			follower := p.follow(f, boss)
			defer follower.Leave()
			ready.Done()
			text, err := follower.Next(t.Context(), time.Minute)
			if err != nil || len(text) == 0 {
				t.Errorf("no event: %q, %v", text, err)
				return
			}
			arrivals[i] = arrival{time.Now(), text}
		})
	}

	ready.Wait()
	time.Sleep(100 * time.Millisecond) // so that they wait
	p.write(boss, 1)
	all.Wait()

	first, last := arrivals[0].at, arrivals[0].at
	for _, a := range arrivals {
		if t.Failed() {
			return
		}
		if &a.text[0] != &arrivals[0].text[0] {
			t.Error("the event was rendered for each")
		}

		if a.at.Before(first) {
			first = a.at
		}

		if a.at.After(last) {
			last = a.at
		}
	}

	if took := last.Sub(first); took < least {
		t.Errorf("all %d woke up within %s", followers, took)
	}
}

// TestATextHoldsWhatOneMaySee mixes events of two users on one page, in runs and one by one.
func TestATextHoldsWhatOneMaySee(t *testing.T) {
	t.Parallel()
	p := newRecord(t)
	boss := p.boss()
	f := p.reading(nil)
	hers, his := p.follow(f, p.ada), p.follow(f, boss)
	next := func(follower *feed.Follower) string {
		t.Helper()
		text, err := follower.Next(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	p.write(p.ada, 1, 2)
	if got := next(hers); got != "1 2 " {
		t.Errorf("she sees %q", got)
	}
	if got := next(his); got != "1 2 " {
		t.Errorf("he sees %q", got)
	}

	p.exec(`INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state)
		SELECT 'delivery', '9', n, CASE WHEN n IN (12, 13, 15, 18) THEN $1::bigint END, 'x', 'y' FROM generate_series(11, 19) n`, p.ada.ID)
	if got := next(his); got != "11 12 13 14 15 16 17 18 19 " {
		t.Errorf("he sees %q", got)
	}
	if got := next(hers); got != "12 13 15 18 " {
		t.Errorf("she sees %q", got)
	}
}

// reading runs a feed whose texts are the events' numbers.
func (r *record) reading(change func(*feed.Options)) *feed.Feed {
	o := feed.Options{
		Events: r.store.Notices, Tokens: r.store.Accounts, Webhooks: r.store.Webhooks,
		Permit: func(account.Holder) error { return nil },
		Render: func(e core.StreamedEvent) ([]byte, error) { return fmt.Appendf(nil, "%d ", e.Seq), nil },
	}

	if change != nil {
		change(&o)
	}

	f := feed.New(o)
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	r.Cleanup(func() { cancel(); <-done })
	for f.Place() == nil && ctx.Err() == nil { // its start wakes all followers, without an event
		time.Sleep(time.Millisecond)
	}
	return f
}

// boss is an administrator.
func (r *record) boss() account.User {
	r.Helper()
	boss, err := r.store.Accounts.CreateUser(
		r.Context(), account.User{Name: "Boss", Role: account.RoleAdmin, Status: account.UserActive}, "Boss",
	)
	if err != nil {
		r.Fatal(err)
	}
	return boss
}

// write adds an owner's events in one transaction.
func (r *record) write(owner account.User, seqs ...int64) {
	r.Helper()
	r.exec(
		`INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state) SELECT 'delivery', '1', unnest($2::bigint[]), $1::bigint, 'x', 'y'`,
		owner.ID, seqs,
	)
}

func (r *record) exec(sql string, args ...any) {
	r.Helper()
	if _, err := r.db.Exec(r.Context(), sql, args...); err != nil {
		r.Fatal(err)
	}
}
