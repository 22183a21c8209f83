package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stagecoach/dev/testdb"
)

// held begins another process's transaction, which waits for its end.
func (w *rig) held(statements ...string) (end func()) {
	w.t.Helper()
	conn := testdb.Connect(w.t, w.url)
	tx, err := conn.Begin(w.t.Context())
	w.must(err)
	for _, sql := range statements {
		_, err := tx.Exec(w.t.Context(), sql)
		w.must(err)
	}
	return func() { w.must(tx.Commit(w.t.Context())) }
}

// blocked waits until a statement in this database waits for a lock, or over is closed.
func (w *rig) blocked(over <-chan struct{}) {
	w.t.Helper()
	db := testdb.DB(w.t, w.url)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var waits bool
		w.must(db.QueryRow(w.t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits))
		select {
		case <-over:
			return
		default:
		}

		if waits {
			return
		}
	}

	w.t.Fatal("no statement waits for a lock")
}

// TestWebhookRestsWhileOthersAreWoken tries to make a webhook wait while another process is between finding the waiting
// ones and its commit: it does not wait, because it would not be woken.
func TestWebhookRestsWhileOthersAreWoken(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann := w.user(1)
	made := w.hook(ann)
	w.sent(made.ID)
	w.wake()
	begun, err := w.Webhooks.Begin(t.Context(), made.ID)
	w.must(err)
	w.job(ann)

	// the other process has moved the position, and found nothing waiting
	commit := w.held(
		`UPDATE webhook_cursor SET (xid, id) = (SELECT xid, id FROM events ORDER BY xid DESC, id DESC LIMIT 1)`,
	)

	over := make(chan struct{})
	var rests bool
	go func() {
		defer close(over)
		rests, err = w.Webhooks.Rest(t.Context(), made.ID, begun.Claim, begun.Cursor())
	}()

	w.blocked(over)
	commit()
	<-over
	if err != nil || rests {
		t.Errorf("it rests although the event has woken those who waited: %t, %v", rests, err)
	}
}

// TestWebhookIsWokenWhileItRests lets an event wake others while a webhook is about to wait without having seen it: the
// webhook is woken too.
func TestWebhookIsWokenWhileItRests(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ann := w.user(1)
	made := w.hook(ann)
	w.sent(made.ID)
	w.wake()
	begun, err := w.Webhooks.Begin(t.Context(), made.ID)
	w.must(err)
	w.job(ann)

	from, err := w.Webhooks.WakeCursor(t.Context())
	w.must(err)
	events := w.after(from)
	commit := w.held(
		`SELECT id FROM webhook_cursor FOR SHARE`,
		fmt.Sprintf(`UPDATE webhooks SET waiting = true, woken_at = NULL WHERE id = %d AND claim = %d`, made.ID, begun.Claim),
	)

	over := make(chan struct{})
	var woken []int64
	go func() {
		defer close(over)
		woken, _, err = w.Webhooks.Wake(t.Context(), from, events)
	}()

	w.blocked(over)
	commit()
	<-over
	if err != nil || !slices.Equal(woken, []int64{made.ID}) {
		t.Errorf("woken are %v, %v, want the webhook that rests now", woken, err)
	}
}
