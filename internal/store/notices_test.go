package store_test

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// due lists due notifications as "<user>:<entity>:<seqs>".
func (s *downloadRig) due(workloads ...string) (found []notice.Notice, shown []string) {
	s.t.Helper()
	found, err := s.Notices.Due(s.t.Context(), workloads, 10)
	s.must(err)
	for _, n := range found {
		shown = append(shown, fmt.Sprintf("%d:%s:%v", n.UserID, n.EntityID, n.Seqs))
	}
	slices.Sort(shown)
	return found, shown
}

// TestDownloadNotices plans who is notified: the owner, of an end and of a stall that they did not cause.
func TestDownloadNotices(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	note := func(job download.Download, event core.Event) {
		_, err := s.Downloads.Change(ctx, job.ID, func(walk *download.DownloadWalk) error {
			if event.To == "" {
				walk.Note(event.Type)
				return nil
			}
			return testdb.WalkTo(
				walk, lifecycle.Download, walk.Row.State, lifecycle.DownloadState(event.To),
				download.DownloadStep{Actor: event.ActorID},
			)
		})

		s.must(err)
	}

	done := s.move(s.move(s.download(s.ann), lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
	carl, dora := s.user(3), s.user(4)
	own, other := s.download(carl), s.download(dora)
	note(own, core.Event{Type: lifecycle.DownloadWentMissing})
	note(own, core.Event{Type: lifecycle.DownloadFoundAgain})
	note(own, core.Event{Type: "canceled", To: string(lifecycle.DownloadCanceled), ActorID: &carl.ID})
	note(other, core.Event{Type: "canceled", To: string(lifecycle.DownloadCanceled), ActorID: &s.ann.ID})
	chatless, err := s.Accounts.CreateUser(ctx, account.User{Status: account.UserActive}, "")
	s.must(err)
	s.move(s.download(chatless), lifecycle.DownloadFailed)
	stalled := s.download(s.bob)
	note(stalled, core.Event{Type: lifecycle.DownloadStalled})

	want := []string{
		fmt.Sprintf("%d:%d:[3]", s.ann.ID, done.ID), fmt.Sprintf("%d:%d:[2]", dora.ID, other.ID),
		fmt.Sprintf("%d:%d:[2]", s.bob.ID, stalled.ID),
	}
	slices.Sort(want)
	found, got := s.due(lifecycle.WorkloadTask, lifecycle.WorkloadDownload)
	if !slices.Equal(got, want) {
		t.Fatalf("due %q, want %q", got, want)
	}
	if _, got := s.due(lifecycle.WorkloadTask); len(got) != 0 {
		t.Errorf("another workload's: %q", got)
	}

	for _, n := range found {
		again := n
		events, err := s.Notices.Take(ctx, &n)
		if err != nil || len(events) != 1 || events[0].EntityID != n.EntityID || events[0].Seq != n.Seqs[0] {
			t.Errorf("%+v, %v", events, err)
		}
		if events, err := s.Notices.Take(ctx, &again); err != nil || len(events) != 0 || len(again.Seqs) != 0 {
			t.Errorf("taken twice: %+v, %v", events, err)
		}
		s.must(s.Notices.Save(ctx, n, notice.NoticeSent, 0))
	}
}

func TestAlertsBeginAndEnd(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	want := func(when string, want ...notice.Alert) {
		t.Helper()
		got, err := w.Notices.TakeUnsentAlerts(ctx, 0)
		w.must(err)
		for i := range got {
			got[i].ID = 0
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}

	raise := func() { w.must(w.Notices.RaiseAlert(ctx, notice.AlertDownloadsAway)) }
	resolve := func() { w.must(w.Notices.ResolveAlert(ctx, notice.AlertDownloadsAway)) }
	kind := notice.AlertDownloadsAway
	resolve()
	want("nothing has happened")
	raise()
	raise()
	want("it begins", notice.Alert{Kind: kind, Begun: true})
	want("it is told")
	resolve()
	want("it is over", notice.Alert{Kind: kind, Over: true})
	want("that is told")
	raise()
	resolve()
	want("both before anybody was told", notice.Alert{Kind: kind, Begun: true, Over: true})
	raise()
	want("another time", notice.Alert{Kind: kind, Begun: true})
}
