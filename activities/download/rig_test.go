package download

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// rig is a database with readers and a book, a simulator of qBittorrent, and the activities that use both.
type rig struct {
	*Activities
	Store *store.Store // the complete record; Activities has a part of it
	t     *testing.T
	url   string
	qb    *torrentsim.QBittorrent
	seed  *torrentsim.WebSeed
	book  download.Book
	env   *testsuite.TestActivityEnvironment
}

func newRig(t *testing.T, o torrentsim.QBittorrentOptions) *rig {
	t.Helper()
	s := &rig{t: t, url: testdb.URL(t)}
	record, err := store.Open(t.Context(), s.url, testdb.Key)
	s.must(err)
	t.Cleanup(record.Close)
	s.qb, err = torrentsim.NewQBittorrent(o)
	s.must(err)
	server := httptest.NewServer(s.qb)
	t.Cleanup(func() { _ = s.qb.Close(); server.Close() })
	s.seed, err = torrentsim.StartWebSeed("127.0.0.1:0")
	s.must(err)
	t.Cleanup(func() { _ = s.seed.Close() })
	s.Store = record
	s.Activities = &Activities{
		Store: record.Downloads, Alerts: record.Notices, Jobs: &downloads.Service{Store: record},
		Log: slog.New(slog.DiscardHandler),
		Torrents: qbittorrent.New(qbittorrent.Options{
			URL: server.URL, Username: "admin", Password: "adminadmin", Timeout: 5 * time.Second, ActiveCategory: "active",
			DoneCategory: "done", Media: download.MediaTypes,
		}),
		Fetcher: fetch.New(fetch.Options{AllowPrivate: true, MaxSize: 1 << 20}),
		Settings: Settings{
			SavePath: "/books/", Grace: time.Minute, PollGap: time.Minute,
		},
	}

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s.env = suite.NewTestActivityEnvironment()
	s.env.RegisterActivity(s.Activities)
	owner := s.user()
	s.book, err = record.Downloads.CreateBook(t.Context(), "A book", "", core.Request{UserID: owner.ID})
	s.must(err)
	return s
}

func (s *rig) must(err error) {
	s.t.Helper()
	if f := fault.As(err); f != nil {
		s.t.Fatal(f, f.Cause)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *rig) user() account.User {
	s.t.Helper()
	user, err := s.Store.Accounts.CreateUser(s.t.Context(), account.User{Status: account.UserActive}, account.NewToken())
	s.must(err)
	return user
}

func (s *rig) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := testdb.DB(s.t, s.url).Exec(s.t.Context(), sql, args...)
	s.must(err)
}

// job records a download for a new reader.
func (s *rig) job(link string) download.Download {
	s.t.Helper()
	job, _, err := s.Store.Downloads.Create(s.t.Context(), download.Download{
		UserID: s.user().ID, BookID: s.book.ID, MediaType: "text", Source: "test", SourceURL: link,
	}, core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	return job
}

// added is a job whose torrent qBittorrent has.
func (s *rig) added(link string) download.Download {
	s.t.Helper()
	job := s.job(link)
	s.must(s.add(job))
	return s.reload(job)
}

func (s *rig) reload(job download.Download) download.Download {
	s.t.Helper()
	job, err := s.Store.Downloads.ByID(s.t.Context(), job.ID)
	s.must(err)
	return job
}

func (s *rig) add(job download.Download) error {
	_, err := s.env.ExecuteActivity(s.AddTorrent, job.ID)
	return err
}

func (s *rig) awaitSpace(job download.Download) error {
	_, err := s.env.ExecuteActivity(s.AwaitSpace, job.ID)
	return err
}

func (s *rig) remove(job download.Download) error {
	_, err := s.env.ExecuteActivity(s.RemoveTorrent, job.ID)
	return err
}

// cancel requests the cancel of a job.
func (s *rig) cancel(job download.Download, keepFiles bool) {
	s.t.Helper()
	_, err := s.env.ExecuteActivity(s.RequestDownload, lifecycle.DownloadAsked{
		Action: lifecycle.DownloadActionCancel, In: lifecycle.DownloadInput{JobID: job.ID, KeepFiles: keepFiles},
		RequestID: fmt.Sprint("cancel ", job.ID),
	})
	s.must(err)
}

func (s *rig) requery(job download.Download) (again Requery) {
	s.t.Helper()
	value, err := s.env.ExecuteActivity(s.LookForTorrent, job.ID)
	s.must(err)
	s.must(value.Get(&again))
	return again
}

// move performs a transition like the workflow.
func (s *rig) move(
	job download.Download, action lifecycle.DownloadAction, reason fault.Code,
) (record lifecycle.DownloadRecord) {
	s.t.Helper()
	value, err := s.env.ExecuteActivity(
		s.MoveDownload, lifecycle.DownloadMove{JobID: job.ID, Action: action, Reason: reason, Place: s.reload(job).SourcePlace},
	)
	s.must(err)
	s.must(value.Get(&record))
	return record
}

// end ends a job, whatever its torrent's state.
func (s *rig) end(job download.Download, action lifecycle.DownloadAction) {
	s.t.Helper()
	s.exec(`UPDATE download_jobs SET content_path = '/x' WHERE id = $1`, job.ID)
	s.move(job, action, fault.ProviderError)
}

// wantFailure checks the error of an activity: its type, and whether Temporal retries it.
func (s *rig) wantFailure(err error, code fault.Code, retry bool) {
	s.t.Helper()
	failure, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failure.Type() != string(code) || failure.NonRetryable() == retry {
		s.t.Errorf("got %v, want %s, to be tried again %v", err, code, retry)
	}
	if ok && (strings.Contains(failure.Error(), "://") || strings.Contains(failure.Error(), "magnet")) {
		s.t.Errorf("a link is told: %v", failure)
	}
}

// torrent returns the only torrent with a tag.
func (s *rig) torrent(tag string) *torrentsim.Torrent {
	for _, t := range s.qb.Torrents() {
		for _, other := range t.Tags {
			if other == tag {
				return &t
			}
		}
	}
	return nil
}

// magnet is a link to a made-up torrent.
func magnet(n int) string { return fmt.Sprintf("magnet:?xt=urn:btih:%040d", n) }

// within runs a function in the context of an activity.
func (s *rig) within(do func(ctx context.Context)) {
	s.t.Helper()
	name := fmt.Sprintf("within-%d", time.Now().UnixNano())
	s.env.RegisterActivityWithOptions(
		func(ctx context.Context) error { do(ctx); return nil }, activity.RegisterOptions{Name: name},
	)
	_, err := s.env.ExecuteActivity(name)
	s.must(err)
}
