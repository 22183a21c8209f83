package download

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store/notice"
)

// wantAlerts compares the unsent alerts to administrators.
func (s *rig) wantAlerts(when string, want ...notice.Alert) {
	s.t.Helper()
	got, err := s.Store.Notices.TakeUnsentAlerts(s.t.Context(), 0)
	s.must(err)
	for i := range got {
		got[i].ID = 0
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: alerts %+v, want %+v", when, got, want)
	}
}

// TestLongOutageIsTold raises an alert only after a while, and closes it when the outage is over, even after a worker
// restart.
func TestLongOutageIsTold(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	w.pollOnce()
	w.qb.AddFault(sim.Fault{Kind: "503"})
	w.pollOnce()
	w.wantAlerts("a moment")
	w.failed = w.failed.Add(-2 * time.Hour)
	for range 2 {
		w.pollOnce()
	}

	w.wantAlerts("for long", notice.Alert{Kind: notice.AlertDownloadsAway, Begun: true})
	w.Sync = &Sync{
		Store: w.rig.Store.Downloads, Alerts: w.rig.Store.Notices, Torrents: w.rig.Torrents,
		Temporal: w.ears, Metrics: metrics.New().Download(),
		Log: slog.New(slog.DiscardHandler), Settings: w.Sync.Settings,
	}

	w.qb.ClearFaults()
	w.pollOnce()
	w.wantAlerts("it answers", notice.Alert{Kind: notice.AlertDownloadsAway, Over: true})
	w.qb.AddFault(sim.Fault{Kind: "503"})
	w.pollOnce()
	w.wantAlerts("another moment")
}

// TestRefusedLoginIsReported raises an alert at once, from any activity, and closes it when the login works.
func TestRefusedLoginIsReported(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	w.pollOnce()
	job := w.job(magnet(1))
	refused := notice.Alert{Kind: notice.AlertDownloadsLogin}

	for _, meet := range []func() error{
		func() error { return w.add(job) },
		func() error { poll, _ := w.pollOnce(); return poll.Err },
	} {
		w.qb.AddFault(sim.Fault{Kind: "401"})
		if err := meet(); err == nil {
			t.Error("it was let in")
		}
		refused.Begun, refused.Over = true, false
		w.wantAlerts("refused", refused)
		w.qb.ClearFaults()
		w.must(meet())
		refused.Begun, refused.Over = false, true
		w.wantAlerts("let in", refused)
	}
}

// TestNoRoomIsAskedAnew starts without an earlier process's state: the download that waited for disk space may be gone,
// or the setting.
func TestNoRoomIsAskedAnew(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	w.must(w.Store.Notices.RaiseAlert(t.Context(), notice.AlertDownloadsSpace))
	w.wantAlerts("no room", notice.Alert{Kind: notice.AlertDownloadsSpace, Begun: true})
	w.pollOnce()
	w.wantAlerts("a worker begins", notice.Alert{Kind: notice.AlertDownloadsSpace, Over: true})
}

// noWrites is a record that rejects alerts.
type noWrites struct{ Alerts }

func (noWrites) RaiseAlert(context.Context, string) error {
	return fault.New(fault.StoreUnavailable, "the disk of the database is full")
}

// TestNoRoomIsOverWhenItIsWrittenLate ends an incident that was recorded only after its cause was gone.
func TestNoRoomIsOverWhenItIsWrittenLate(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{
		FreeSpace: 10 * mib, Plan: torrentsim.TorrentPlan{Size: 20 * mib, Duration: torrentsim.Never},
	})
	w.pollOnce()
	record := w.Sync.Alerts
	w.Sync.Alerts = noWrites{record}
	w.added(magnet(1))
	w.pollOnce()
	w.pollOnce()
	w.Sync.Alerts = record
	w.must(w.qb.SetFreeSpace(100 * mib))
	w.must(w.Store.Notices.RaiseAlert(t.Context(), notice.AlertDownloadsSpace)) // as the metrics write what was kept
	w.pollOnce()
	w.wantAlerts("room", notice.Alert{Kind: notice.AlertDownloadsSpace, Begun: true, Over: true})
}
