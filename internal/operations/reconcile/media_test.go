package reconcile

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// mediaRig is a library with its files in a folder.
type mediaRig struct {
	t     *testing.T
	store *store.Store
	url   string
	root  string
	sweep *MediaSweep
	swept []string
}

// newMediaRig makes a library of n books with a text each, and their files.
func newMediaRig(t *testing.T, n int) *mediaRig {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	r := &mediaRig{t: t, store: s, url: url, root: t.TempDir()}
	r.sweep = &MediaSweep{
		Store: s.Downloads, Alerts: s.Notices, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Root: r.root, SavePath: "/downloads", MaxPercent: 5,
		OnSwept: func(result string) { r.swept = append(r.swept, result) },
	}

	r.exec(`INSERT INTO users (telegram_id, status) VALUES (7, 'ACTIVE')`)
	r.exec(`INSERT INTO books (title, creator_id, state) SELECT 'b', 1, 'Library' FROM generate_series(1, $1::int)`, n)
	r.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) SELECT id, 'text', id, 'available', '/downloads/job-' || id || '/a.epub', 'x' FROM books`,
	)
	for i := range n {
		r.put(i + 1)
	}

	r.write(MediaMarker)
	return r
}

func (r *mediaRig) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := testdb.DB(r.t, r.url).Exec(r.t.Context(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *mediaRig) write(name string) {
	r.t.Helper()
	file := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *mediaRig) put(book int)  { r.t.Helper(); r.write(fmt.Sprintf("job-%d/a.epub", book)) }
func (r *mediaRig) take(book int) { r.t.Helper(); r.remove(fmt.Sprintf("job-%d", book)) }

func (r *mediaRig) remove(name string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.root, name)); err != nil {
		r.t.Fatal(err)
	}
}

// sweepOnce runs a sweep like a worker, and returns its result.
func (r *mediaRig) sweepOnce() string {
	r.t.Helper()
	r.swept = nil
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(r.sweep)
	_, err := env.ExecuteActivity(r.sweep.SweepMedia)
	if failed := slices.Contains(r.swept, MediaSweepFailed); (err != nil) != failed {
		r.t.Errorf("the sweep says %v, %v", r.swept, err)
	}
	return strings.Join(r.swept, " ")
}

// want checks a book's state and its text's status.
func (r *mediaRig) want(when string, book int64, state, status string) {
	r.t.Helper()
	got, err := r.store.Downloads.BookByID(r.t.Context(), book)
	if err != nil {
		r.t.Fatal(err)
	}
	if got.State != state || got.Media[0].Status != status {
		r.t.Errorf(
			"%s: book %d is in %s with a text that is %s, want %s and %s", when, book, got.State, got.Media[0].Status, state,
			status,
		)
	}
}

// TestMediaGoAndComeBack removes a file and puts it back: the sweep follows, except for what a person has deleted.
func TestMediaGoAndComeBack(t *testing.T) {
	t.Parallel()
	r := newMediaRig(t, 1100) // three batches
	r.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES (3, 'audio', 5000, 'available', '/elsewhere/a.mp3', 'x')`,
	)

	r.take(7)
	r.take(900)
	if got := r.sweepOnce(); got != MediaSwept {
		t.Fatalf("the sweep says %q", got)
	}

	r.want("its file is gone", 7, download.BookArchive, download.MediaMissing)
	r.want("its file is gone", 900, download.BookArchive, download.MediaMissing)
	r.want("its file is there", 8, download.BookLibrary, download.MediaAvailable)
	r.want("its audio lies outside of the root", 3, download.BookLibrary, download.MediaAvailable)

	admin := int64(1)
	if _, err := r.store.Downloads.ChangeMedium(t.Context(), download.MediumChange{BookID: 900, MediaType: "text", To: download.MediaDeleted, ActorID: &admin}); err != nil {
		t.Fatal(err)
	}

	r.put(7)
	r.put(900)
	r.sweepOnce()
	r.want("its file is back", 7, download.BookLibrary, download.MediaAvailable)
	r.want("a person has deleted it", 900, download.BookArchive, download.MediaDeleted)

	events, err := r.store.Notices.EventsOf(t.Context(), "book", "7")
	if err != nil || len(events) != 2 || events[0].Type != "medium_missing" || events[1].From != download.MediaMissing || events[1].To != download.MediaAvailable {
		t.Errorf("the events of book 7: %+v, %v", events, err)
	}
}

// TestTooManyMediaAreMissing requires a sweep to mark nothing if more than five of a hundred files are gone, and to
// raise an alert.
func TestTooManyMediaAreMissing(t *testing.T) {
	t.Parallel()
	r := newMediaRig(t, 100)
	for book := range 6 {
		r.take(book + 1)
	}

	if got := r.sweepOnce(); got != MediaStopped {
		t.Errorf("the sweep says %q", got)
	}

	r.want("six of a hundred are gone", 1, download.BookLibrary, download.MediaAvailable)
	r.wantAlert(true)

	r.put(6)
	if got := r.sweepOnce(); got != MediaSwept {
		t.Errorf("the sweep says %q", got)
	}

	r.want("five of a hundred are gone", 1, download.BookArchive, download.MediaMissing)
	r.wantAlert(false)
}

func (r *mediaRig) wantAlert(want bool) {
	r.t.Helper()
	alerts, err := r.store.Notices.Incidents(r.t.Context(), true, 0, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	if open := len(alerts) == 1 && alerts[0].Kind == notice.AlertMediaMissing; open != want {
		r.t.Errorf("open alerts %+v", alerts)
	}
}

// TestMediaAreNotLookedForElsewhere sweeps nothing without the marker: the root is not mounted, or is something else.
func TestMediaAreNotLookedForElsewhere(t *testing.T) {
	t.Parallel()
	r := newMediaRig(t, 100)
	r.remove(MediaMarker)
	r.take(1)
	if got := r.sweepOnce(); got != MediaSweepFailed {
		t.Errorf("the sweep says %q", got)
	}

	r.want("no access", 1, download.BookLibrary, download.MediaAvailable)

	r.sweep.Root = ""
	if got := r.sweepOnce(); got != "" {
		t.Errorf("without a root the sweep says %q", got)
	}

	r.sweep.Root = r.root
	r.write(MediaMarker)
	if got := r.sweepOnce(); got != MediaSwept {
		t.Errorf("the sweep says %q", got)
	}

	r.want("the marker is back", 1, download.BookArchive, download.MediaMissing)
}

// TestMediaOfTheLibraryFolder checks imported files in the library folder.
func TestMediaOfTheLibraryFolder(t *testing.T) {
	t.Parallel()
	r := newMediaRig(t, 100)
	r.exec(`UPDATE media_assets SET path = 'A/T' || book_id || '.epub' WHERE book_id < 3`)
	r.write("library/A/T1.epub")
	r.sweepOnce()
	r.want("there is no library folder", 2, download.BookLibrary, download.MediaAvailable)

	r.sweep.Library = filepath.Join(r.root, "library")
	if got := r.sweepOnce(); got != MediaSwept {
		t.Fatalf("the sweep says %q", got)
	}
	r.want("it is there", 1, download.BookLibrary, download.MediaAvailable)
	r.want("it is gone", 2, download.BookArchive, download.MediaMissing)
	r.want("it lies with qBittorrent", 3, download.BookLibrary, download.MediaAvailable)

	r.remove("library")
	if got := r.sweepOnce(); got != MediaSweepFailed {
		t.Errorf("without the folder the sweep says %q", got)
	}
}
