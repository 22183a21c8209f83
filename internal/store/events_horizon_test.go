package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
)

const writeEvent = `INSERT INTO events (workload, entity_id, seq, type, to_state) VALUES ('delivery', '1', $1, 'x', 'y')`

// connect opens a connection that is closed when the test ends.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := testdb.Connect(t, url)
	return conn
}

// TestAnotherDatabaseHoldsNoEventsBack keeps a write transaction open in another database: events arrive, and a stream
// that begins now begins after them. One in this database holds back what is written after it. A role without
// privileges sees the same, if row-level security does not apply to it.
func TestAnotherDatabaseHoldsNoEventsBack(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	execIn(t, w.url, `DROP ROLE IF EXISTS follower; CREATE ROLE follower BYPASSRLS; GRANT SELECT ON events TO follower`)
	plain, err := store.Open(t.Context(), w.url+roleOf(w.url), testdb.Key)
	w.must(err)
	t.Cleanup(plain.Close)
	stores := map[string]*store.Store{"the owner": w.Store, "a role without privileges": plain}
	seen := func(want int) {
		t.Helper()
		for who, s := range stores {
			wait.Eventually(t, fmt.Sprintf("%s sees %d events", who, want), func() bool {
				events, err := s.Notices.EventsAfter(t.Context(), core.Cursor{}, 100)
				w.must(err)
				if len(events) > want {
					t.Fatalf("%s sees %d events, want %d", who, len(events), want)
				}
				return len(events) == want
			})
		}
	}

	elsewhere := connect(t, testdb.Bare(t))
	_, err = elsewhere.Exec(t.Context(), `BEGIN; SAVEPOINT s; SELECT pg_current_xact_id()`)
	w.must(err)
	w.exec(writeEvent, 1)
	w.exec(writeEvent, 2)
	seen(2)
	var now core.Cursor
	wait.Eventually(t, "a stream begins after what is written", func() bool {
		var err error
		now, err = w.Notices.EventsNow(t.Context())
		w.must(err)
		return w.count("events WHERE (xid, id) > ($1::text::xid8, $2)", now.XIDText(), now.ID) == 0
	})
	wait.Eventually(t, "nothing is held back", func() bool {
		lag, err := w.Notices.EventsLag(t.Context())
		w.must(err)
		return lag == 0
	})

	here := connect(t, w.url)
	_, err = here.Exec(t.Context(), `BEGIN`)
	w.must(err)
	_, err = here.Exec(t.Context(), writeEvent, 3)
	w.must(err)
	w.exec(writeEvent, 4)
	seen(2)
	if lag, err := w.Notices.EventsLag(t.Context()); err != nil || lag <= 0 {
		t.Errorf("with a transaction in this database the lag is %v, %v", lag, err)
	}

	_, err = here.Exec(t.Context(), `COMMIT`)
	w.must(err)
	seen(4)
	if later := w.after(now); len(later) != 2 {
		t.Errorf("after the place from before came %d events", len(later))
	}
}

// roleOf returns a connection string whose sessions belong to a role without privileges.
func roleOf(url string) string {
	if strings.Contains(url, "?") {
		return "&role=follower"
	}
	return "?role=follower"
}

// TestNightNoEventIsSkippedBesideOtherDatabases writes events on short-lived connections, in transactions of random
// length, while others do so in another database and so reuse each other's slots in the server. A follower misses none
// and sees none twice.
func TestNightNoEventIsSkippedBesideOtherDatabases(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const writers, each = 4, 60
	w := newRig(t)
	other := testdb.Bare(t)
	transact := func(url, sql string, args ...any) error {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		return pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), sql, args...)
			time.Sleep(rand.N(5 * time.Millisecond))
			return err
		})
	}

	var noise, writing sync.WaitGroup
	written := make(chan struct{})
	for range writers {
		noise.Go(func() {
			for open := true; open; {
				if err := transact(other, `SELECT pg_current_xact_id()`); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-written:
					open = false
				default:
				}
			}
		})
	}

	for writer := range writers {
		writing.Go(func() {
			for n := range each {
				if err := transact(w.url, writeEvent, int64(writer*each+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}

	seen := map[int64]bool{}
	var cursor core.Cursor
	follow := func() {
		for {
			events, err := w.Notices.EventsAfter(t.Context(), cursor, 10)
			w.must(err)
			for _, event := range events {
				if seen[event.Seq] {
					t.Errorf("event %d came twice", event.Seq)
				}
				seen[event.Seq] = true
				cursor = event.Cursor()
			}

			if len(events) == 0 {
				return
			}
		}
	}

	go func() { writing.Wait(); close(written) }()
	for open := true; open; {
		select {
		case <-written:
			open = false
		default:
		}
		follow()
	}

	noise.Wait()
	wait.Eventually(t, "all events are seen", func() bool { // other tests' transactions may hold the last ones back
		follow()
		return len(seen) >= writers*each
	})
	if len(seen) != writers*each {
		t.Errorf("%d events, want %d", len(seen), writers*each)
	}
}
