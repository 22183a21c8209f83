package store_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
)

// TestPlacesInLine counts turns, not arrivals.
func TestPlacesInLine(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann, bob := w.user(1), w.user(2)
	a1, a2, a3 := w.job(ann), w.job(ann), w.job(ann)
	b1 := w.job(bob)
	want := map[int64]int{a1.ID: 1, b1.ID: 2, a2.ID: 3, a3.ID: 4}

	line, err := w.Deliveries.Line(t.Context(), 0)
	w.must(err)
	if !maps.Equal(line, want) {
		t.Errorf("the line is %v, want %v", line, want)
	}
}

const (
	fillLine = `
	INSERT INTO ton_wallets (address, cursor_lt, cursor_hash) VALUES ('0:' || repeat('a', 64), 0, '');
	INSERT INTO users (name, telegram_id, status) SELECT 'u', n, 'ACTIVE' FROM generate_series(1, 7) n;
	INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now())`

	// a delivery and a purchase wait with each of the numbers
	joinLine = `
	SET session_replication_role = replica;
	INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source)
		SELECT lpad(n::text, 64, '0'), mod(n, 7) + 1, 1, 'f', 1, 'api' FROM generate_series(%[1]d, %[2]d) n;
	INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, processing_since)
		SELECT lpad(n::text, 64, '0'), '0:' || repeat('a', 64), n, 1, 's' || mod(n, 7), '', 'processing', 1, now() FROM generate_series(%[1]d, %[2]d) n`
)

// TestLineCostsOneTrip requests the places of all waiting jobs, as the live messages of a tick do, while ten wait and
// while a thousand do: each line costs one round trip to PostgreSQL.
func TestLineCostsOneTrip(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	fillWith(t, url, fillLine)
	trips := testdb.CountTrips(t, url)
	s, err := store.OpenPool(t.Context(), trips.URL, core.Pool{Connections: 1}, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	purchases := func(want int) {
		t.Helper()
		if line, err := s.Transactions.PaymentQueue(t.Context(), "0:"+strings.Repeat("a", 64), want+1); err != nil || len(line) != want {
			t.Fatalf("%d purchases have a place, %v; %d wait", len(line), err, want)
		}
	}
	deliveries := func(age time.Duration, want int) {
		t.Helper()
		if line, err := s.Deliveries.Line(t.Context(), age); err != nil || len(line) != want {
			t.Errorf("%d deliveries have a place, %v; %d wait", len(line), err, want)
		}
	}

	deliveries(0, 0) // a connection's first use of a statement costs one more
	purchases(0)
	for _, step := range [][2]int{{1, 10}, {11, 1000}} {
		fillWith(t, url, fmt.Sprintf(joinLine, step[0], step[1]))
		before := trips.Count()
		purchases(step[1])
		if cost := trips.Count() - before; cost != 1 {
			t.Errorf("while %d wait, the places of purchases cost %d round trips", step[1], cost)
		}

		before = trips.Count()
		deliveries(0, step[1])
		var all sync.WaitGroup
		for range step[1] {
			all.Go(func() { deliveries(time.Minute, step[1]) })
		}
		all.Wait()
		if cost := trips.Count() - before; cost != 1 {
			t.Errorf("while %d wait, the places of deliveries cost %d round trips", step[1], cost)
		}
	}
}
