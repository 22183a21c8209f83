package testdb

import (
	"testing"
	"time"

	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
)

// EventsAfter lists all committed events after a cursor. Transactions in other databases, such as other tests', may
// hold some back for a moment: once one has ended after the snapshot was taken, it is no longer known that it belongs
// to another database.
func EventsAfter(t testing.TB, url string, s *store.Store, from core.Cursor) []core.StreamedEvent {
	t.Helper()
	var all int
	row := DB(t, url).QueryRow(
		t.Context(), `SELECT count(*) FROM events WHERE (xid, id) > ($1::text::xid8, $2)`, from.XIDText(), from.ID,
	)
	if err := row.Scan(&all); err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		events, err := s.Notices.EventsAfter(t.Context(), from, all+1)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) >= all {
			return events
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events can be read", len(events), all)
		}
	}
}
