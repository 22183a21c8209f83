package bot

import (
	"context"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/store/notice"
)

// TestIncidentsAreReportedOnce makes an incident flap, restarts the bot, and begins a second incident after the first is
// over.
func TestIncidentsAreReportedOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.options.AlertCalm = time.Hour // however long it flaps
	stop := w.run(w.bot())
	w.writes(boss, "en", "/start")
	w.sees(boss, "Choose a file")
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	raise := func() { t.Helper(); must(w.store.Notices.RaiseAlert(ctx, notice.AlertFindings)) }
	resolve := func() { t.Helper(); must(w.store.Notices.ResolveAlert(ctx, notice.AlertFindings)) }
	count := func(start string) (n int) {
		for _, message := range w.messages(boss) {
			if strings.HasPrefix(message.Text, start) {
				n++
			}
		}
		return n
	}

	raise()
	w.sees(boss, "🚨 The record and the workflows differed")
	for range 3 { // it flaps
		resolve()
		raise()
	}

	stop()
	w.options.AlertCalm = time.Second
	w.run(w.bot())
	resolve()
	w.sees(boss, "✅ The reconciler finds nothing new")
	if n := count("🚨"); n != 1 {
		t.Errorf("it was notified %d times that it began", n)
	}

	raise() // another incident
	w.eventually("a notice of the next incident", func() bool { return count("🚨") == 2 })
	resolve()
	w.eventually("its end too", func() bool { return count("✅") == 2 })
	if n := len(w.messages(boss)); n != 5 {
		t.Errorf("%d messages", n)
	}
}

// TestServiceCutOff counts an outage from the moment serving is cut off: the next query of PostgreSQL only comes after
// everything in flight has ended.
func TestServiceCutOff(t *testing.T) {
	t.Parallel()
	b := newRig(t).bot()
	cut, stop := context.WithCancel(t.Context())
	stop()
	if _ = b.serve(cut); b.databaseAway.IsZero() {
		t.Error("nobody knows since when PostgreSQL may be away")
	}
}

// TestDatabaseUnavailable notifies of an outage of PostgreSQL when it is over, and ignores a short one.
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bot()
	b.databaseIsAway()
	b.databaseIsBack(t.Context())
	b.databaseAway = time.Now().Add(-time.Hour)
	b.databaseIsAway()
	b.databaseIsBack(t.Context())
	b.databaseIsBack(t.Context())
	got, err := w.store.Notices.TakeUnsentAlerts(t.Context(), time.Hour)
	if err != nil || len(got) != 1 || got[0].Kind != notice.AlertDatabaseAway || !got[0].Begun || !got[0].Over {
		t.Errorf("%+v, %v", got, err)
	}
}
