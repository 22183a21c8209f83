package download

import (
	"fmt"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestRequests decides people's requests about a job: each request once, whatever the job's later state.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	job, stranger, boss := s.job(magnet(1)), s.user(), s.user()
	_, err := s.Store.Accounts.ChangeUser(t.Context(), boss.ID, account.UserChange{Role: account.RoleAdmin})
	s.must(err)
	ask := func(action lifecycle.DownloadAction, id string, in lifecycle.DownloadInput, want fault.Code) (now download.Download) {
		t.Helper()
		in.JobID = job.ID
		_, err := s.env.ExecuteActivity(s.RequestDownload, lifecycle.DownloadAsked{Action: action, In: in, RequestID: id})
		if want == "" {
			s.must(err)
		} else {
			s.wantFailure(err, want, false)
		}
		return s.reload(job)
	}
	const cancel, retry = lifecycle.DownloadActionCancel, lifecycle.DownloadActionRetryImport

	ask(retry, "early", lifecycle.DownloadInput{Actor: job.UserID}, fault.InvalidTransition)
	s.exec(`UPDATE download_jobs SET status = 'downloading', attention = 'import_failed', last_error = 'X' WHERE id = $1`, job.ID)
	ask(retry, "early", lifecycle.DownloadInput{Actor: job.UserID}, fault.InvalidTransition) // as decided before
	ask(retry, "theirs", lifecycle.DownloadInput{Actor: stranger.ID}, fault.InsufficientAccess)
	for range 2 {
		if now := ask(retry, "again", lifecycle.DownloadInput{Actor: job.UserID}, ""); now.Attention != "" || now.LastError != "" {
			t.Errorf("%+v", now)
		}
		s.exec(`UPDATE download_jobs SET updated_at_utc = now() WHERE id = $1`, job.ID)
	}
	if events, err := s.Store.Notices.EventsOf(t.Context(), "download", fmt.Sprint(job.ID)); err != nil || len(events) != 2 {
		t.Errorf("%+v, %v", events, err)
	}

	ask(cancel, "theirs too", lifecycle.DownloadInput{Actor: stranger.ID}, fault.InsufficientAccess)
	first := ask(cancel, "mine", lifecycle.DownloadInput{Actor: job.UserID, KeepFiles: true}, "")
	ask(cancel, "mine", lifecycle.DownloadInput{Actor: job.UserID}, fault.Validation) // a different request
	last := ask(cancel, "an administrator's", lifecycle.DownloadInput{Actor: boss.ID}, "")
	last = ask(cancel, "an operator's", lifecycle.DownloadInput{}, "")
	if !last.KeepFiles || *last.CancelRequestedBy != job.UserID || !last.CancelRequestedAt.Equal(*first.CancelRequestedAt) {
		t.Errorf("first %+v, then %+v", first, last)
	}

	s.end(job, cancel)
	ask(cancel, "late", lifecycle.DownloadInput{Actor: job.UserID}, fault.InvalidTransition)
	ask(cancel, "an operator's", lifecycle.DownloadInput{}, "")
}
