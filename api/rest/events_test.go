package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

type streamed struct {
	ID   string
	Data map[string]any
}

// followed is a stream with a reader.
type followed struct {
	events <-chan streamed
	leave  func()
	lastID atomic.Value // with which the client would reconnect: a block without data moves it too
}

// cursor is the last id that the stream has sent.
func (f *followed) cursor() string {
	id, _ := f.lastID.Load().(string)
	return id
}

// listen opens a stream; it ends with the test, or when the returned function is called.
func (w *rig) listen(token, after string) (<-chan streamed, func()) {
	w.t.Helper()
	f := w.follow(token, after)
	return f.events, f.leave
}

// follow opens a stream; it ends with the test, or when it is closed.
func (w *rig) follow(token, after string) *followed {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/v1/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+token)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}

	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("the stream answers %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}

	events := make(chan streamed, 10_000)
	f := &followed{events: events, leave: cancel}
	ready := make(chan struct{})
	go func() {
		defer close(events)
		defer func() { _ = response.Body.Close() }()

		var event streamed
		placed := false // some clients only accept an id with a line of data
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			line := lines.Text()
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				event.ID = id
			} else if data, ok := strings.CutPrefix(line, "data: "); ok {
				placed, _ = true, json.Unmarshal([]byte(data), &event.Data)
			} else if line == "data:" {
				placed = true
			} else if line == ": ready" {
				close(ready)
			} else if line == "" && event.ID != "" {
				if placed {
					f.lastID.Store(event.ID)
				}
				placed = false
				if event.Data != nil {
					events <- event
				}
				event = streamed{}
			}
		}
	}()

	select {
	case <-ready:
	case <-time.After(wait.Patience):
		w.t.Fatal("the stream says nothing")
	}
	return f
}

func (w *rig) next(events <-chan streamed) streamed {
	w.t.Helper()
	select {
	case event, ok := <-events:
		if !ok {
			w.t.Fatal("the stream has ended")
		}
		return event
	case <-time.After(wait.Patience):
		w.t.Fatal("no event came")
	}

	return streamed{}
}

func (w *rig) ends(events <-chan streamed) {
	w.t.Helper()
	for deadline := time.After(wait.Patience); ; {
		select {
		case event, ok := <-events:
			if !ok {
				return
			}
			w.t.Errorf("got %v", event)
		case <-deadline:
			w.t.Fatal("the stream does not end")
		}
	}
}

// TestACutBeforeTheFirstEvent loses nothing: the id comes with data, as some clients require.
func TestACutBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	f := w.follow(w.adaToken, "")
	wait.Eventually(w.t, "the stream says where it is", func() bool { return f.lastID.Load() != nil })
	f.leave()
	w.ends(f.events)

	w.write(w.ada, 1, 1)
	events, _ := w.listen(w.adaToken, f.lastID.Load().(string))
	if got := w.next(events); got.Data["entity_id"] == nil {
		t.Errorf("%v", got)
	}
}

// TestNothingIsLostOrRepeated drops the stream again and again during concurrent writes, some of which commit late.
func TestNothingIsLostOrRepeated(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const writers, each = 8, 60
	var wg sync.WaitGroup

	for n := range writers {
		wg.Go(func() {
			for i := range each {
				tx, err := w.db.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}

				_, err = tx.Exec(t.Context(), `INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state)
					VALUES ('delivery', $1, $2, $3, 'x', 'y')`, fmt.Sprint(n), i+1, w.ada.ID)
				if err != nil {
					t.Error(err)
				}

				time.Sleep(time.Duration((n*7+i*3)%20) * time.Millisecond)
				if err := tx.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}

	last := "0-0"
	seen := map[string]int{}
	for lap := 0; len(seen) < writers*each; lap++ {
		events, leave := w.listen(w.adminToken, last) // who has no limit of streams
		for range 1 + lap*13%40 {
			if len(seen) == writers*each {
				break
			}
			event := w.next(events)
			last = event.ID
			seen[fmt.Sprint(event.Data["entity_id"], "/", event.Data["seq"])]++
		}
		leave()
	}

	wg.Wait()
	for event, times := range seen {
		if times != 1 {
			t.Errorf("%s came %d times", event, times)
		}
	}
}

func TestTheStreamEndsWithTheAccess(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/a", 1)
	events, _ := w.listen(w.adaToken, "")
	if _, err := w.store.Accounts.ChangeUser(t.Context(), w.ada.ID, account.UserChange{Status: account.UserBlocked}); err != nil {
		t.Fatal(err)
	}

	_, _, err := w.store.Deliveries.Create(t.Context(), delivery.Job{
		IdempotencyKey: strings.Repeat("a", 64), UserID: w.ada.ID, FileID: file.ID, FileName: "a", Size: 1, Source: "api",
	}, core.Event{Type: "enqueued", To: "QUEUED"})
	if err != nil {
		t.Fatal(err)
	}

	w.ends(events)
	w.send(w.adaToken, "GET", "/v1/events", nil).refused(http.StatusForbidden, fault.UserNotActive, "")
}

func TestARoleThatChangesChangesTheStream(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/a", 1)
	events, _ := w.listen(w.adaToken, "")
	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), `{"role":"ADMIN"}`).ok(http.StatusOK)
	w.deliver(w.adaToken, file, "1").ok(http.StatusCreated)
	w.next(events)
	w.deliver(w.bobToken, file, "1").ok(http.StatusCreated)
	if event := w.next(events); event.Data["owner_id"] != fmt.Sprint(w.bob.ID) {
		t.Errorf("got %v", event)
	}

	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), `{"role":"USER"}`).ok(http.StatusOK)
	w.deliver(w.bobToken, file, "2").ok(http.StatusCreated)
	mine := w.deliver(w.adaToken, file, "2").ok(http.StatusCreated).body["id"]
	if event := w.next(events); event.Data["entity_id"] != mine {
		t.Errorf("got %v", event)
	}
}

func TestTheStreamEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	events, _ := w.listen(w.adaToken, "")
	w.stop()
	w.ends(events)
}

func TestASlowClientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v1/events?last_event_id=0-0", nil)
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+w.adaToken)
	slow, err := http.DefaultClient.Do(r) // and never reads
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Body.Close() }()

	quick, _ := w.listen(w.adaToken, "")
	w.exec(`INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state, comment)
		SELECT 'delivery', 'many', n, $1, 'x', 'y', repeat('z', 5000) FROM generate_series(1, 3000) n`, w.ada.ID)
	for i := range 3000 {
		if event := w.next(quick); event.Data["seq"] != float64(i+1) {
			t.Fatalf("event %d is %v", i+1, event.Data["seq"])
		}
	}
}
