package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/operations"
)

// write adds events of an owner, each in its own database transaction.
func (w *rig) write(owner account.User, entity, howMany int) {
	w.t.Helper()
	w.exec(`INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state)
		SELECT 'delivery', $2::bigint::text, n, $1, 'x', 'y' FROM generate_series(1, $3) n`, owner.ID, entity, howMany)
}

// statements counts the statements of this database so far.
func (w *rig) statements() (count int) {
	w.t.Helper()
	time.Sleep(1500 * time.Millisecond) // PostgreSQL's backends report their counters once a second
	if err := w.db.QueryRow(w.t.Context(), `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&count); err != nil {
		w.t.Fatal(err)
	}
	return count
}

// TestNightManyStreamsCostTheRecordNoMoreThanOne follows the same events with one stream and with sixty.
func TestNightManyStreamsCostTheRecordNoMoreThanOne(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	w.write(w.bob, 1, 5000)
	asked := func() (perSecond float64) {
		before, began := w.statements(), time.Now()
		for i := range 20 {
			w.write(w.ada, 1000+before+i, 1)
			time.Sleep(100 * time.Millisecond)
		}
		after := w.statements()
		return float64(after-before) / time.Since(began).Seconds()
	}

	w.listen(w.adaToken, "")
	one := asked()
	var all []*followed
	for i := range 60 {
		token := w.adaToken
		if i%8 > 0 { // a user may have few streams
			_, token = w.user(fmt.Sprint("Follower ", i), int64(1000+i), account.RoleUser, account.UserActive)
		}
		if i < 8 {
			token = w.adminToken
		}
		all = append(all, w.follow(token, "0-0"))
	}

	for _, f := range all[:8] {
		for range 5020 {
			w.next(f.events)
		}
	}

	// The streams of those who see none of it keep catching up for a while.
	var sixty float64
	wait.Eventually(w.t, "61 streams cost no more than twice the statements of one", func() bool {
		sixty = asked()
		return sixty <= 2*one // the machine may be slow, and the clock causes some reads
	})
	t.Logf("%.1f statements a second with 1 stream, %.1f with 61", one, sixty)
}

// TestTheCursorMovesPastWhatOneMayNotSee writes many events that a user may not see: the user's next stream need not
// read them again.
func TestTheCursorMovesPastWhatOneMayNotSee(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ada, admin := w.follow(w.adaToken, "0-0"), w.follow(w.adminToken, "0-0")
	w.write(w.bob, 1, 3000)
	for range 3000 {
		w.next(admin.events)
	}

	wait.Eventually(w.t, "ada's cursor is past bob's events", func() bool { return ada.cursor() == admin.cursor() })

	late := w.follow(w.bobToken, ada.cursor())
	w.write(w.bob, 2, 1)
	if event := w.next(late.events); event.Data["entity_id"] != "2" {
		t.Errorf("after the cursor came %v", event)
	}

	quiet := w.follow(w.adaToken, "")
	wait.Eventually(w.t, "a stream that begins now says where it begins", func() bool { return quiet.cursor() != "" })
}

// TestAnOldCursorIsToldWhereToBegin asks for events that retention has deleted, and for events too far back.
func TestAnOldCursorIsToldWhereToBegin(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.write(w.ada, 1, 10)
	early, _ := w.listen(w.adaToken, "0-0")
	first := w.next(early)
	w.exec(`UPDATE events SET created_at = now() - interval '400 days' WHERE seq <= 5`)
	if _, _, err := w.store.Operations.DeleteOld(t.Context(), operations.Old{Kind: "delivery_events", Days: 365}, 0, 100); err != nil {
		t.Fatal(err)
	}

	a := w.open(w.adaToken, first.ID).refused(http.StatusGone, "CURSOR_GONE", "")
	oldest, _ := a.body["details"].(map[string]any)["oldest"].(string)
	again, _ := w.listen(w.adaToken, oldest)
	if event := w.next(again); event.Data["seq"] != 6.0 {
		t.Errorf("from %q: %v", oldest, event)
	}

	w.open(w.adaToken, "0-0").refused(http.StatusGone, "CURSOR_GONE", "")
	// Before a restore the record was further than now.
	w.open(w.adaToken, "9000000000000000-1").refused(http.StatusGone, "CURSOR_GONE", "")
}

func TestStreamsAreLimitedPerUser(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var all []*followed
	for range 10 {
		all = append(all, w.follow(w.adaToken, ""))
	}

	a := w.open(w.adaToken, "").refused(http.StatusConflict, "QUOTA_EXCEEDED", "")
	if details := a.body["details"].(map[string]any); details["limit"] != "streams" || details["maximum"] != 10.0 {
		t.Errorf("details %v", details)
	}

	w.listen(w.bobToken, "")
	all[3].leave()
	wait.Eventually(w.t, "there is room for another stream", func() bool { return w.open(w.adaToken, "").status == http.StatusOK })
}

// open requests a stream and closes it at once: the response is that of its beginning.
func (w *rig) open(token, after string) reply {
	w.t.Helper()
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()

	r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/v1/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Last-Event-ID", after)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	a := reply{t: w.t, call: "GET /v1/events", status: response.StatusCode, header: response.Header}
	if a.status != http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
			w.t.Fatal(err)
		}
	}
	return a
}

// TestALongTransactionHoldsEventsBack keeps a database transaction open: held-back events show in the metrics, and
// arrive when it ends.
func TestALongTransactionHoldsEventsBack(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	events, _ := w.listen(w.adaToken, "")
	long, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Rollback(context.WithoutCancel(t.Context())) }()

	insert := `INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state) VALUES ('delivery', '2', 1, $1, 'x', 'y')`
	if _, err := long.Exec(t.Context(), insert, w.ada.ID); err != nil {
		t.Fatal(err)
	}

	w.write(w.ada, 1, 20)

	wait.Eventually(w.t, "the metric shows the lag", func() bool { return w.gauge("events_lag_seconds") >= 2 })
	select {
	case event := <-events:
		t.Fatalf("%v came before an event that could have a place before it", event)
	default:
	}

	if err := long.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	for i := range 21 {
		if event := w.next(events); (event.Data["entity_id"] == "2") != (i == 0) {
			t.Errorf("event %d is %v", i, event)
		}
	}

	wait.Eventually(w.t, "the lag is over", func() bool { return w.gauge("events_lag_seconds") < 1 })
}

// gauge reads a metric without labels; -1 if there is none.
func (w *rig) gauge(name string) float64 {
	w.t.Helper()
	value := -1.0
	served := httptest.NewRecorder()
	w.measures.Handler().ServeHTTP(served, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(served.Body.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, _ = fmt.Sscan(rest, &value)
		}
	}
	return value
}
