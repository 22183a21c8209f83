package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"
	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

const (
	activeCategory  = "stagecoach"
	doneCategory    = "stagecoach-done" // of failed ones; completed ones add a hyphen and the medium
	foreignCategory = "somebody-elses"

	pollEvery = 200 * time.Millisecond
	grace     = 10 * time.Second // a test puts a torrent back within this time
	seedSpeed = 512 << 10        // bytes a second of the web seed
)

// library is a rig for downloads with a qBittorrent, simulated or real.
type library struct {
	*rig
	whole     *rig // of the complete test, for what outlives a part of it
	torrents  torrents
	seed      *torrentsim.WebSeed // serves the .torrent files, and the content of some
	downloads *downloads.Service
	foreign   *qbt.Torrent // a torrent of another installation
	// torrents of completed downloads may be lost, and come back without content because of a request in flight
	careless bool
}

// torrents is a qBittorrent with the test's controls beyond its Web API.
type torrents interface {
	login() (url, user, password string)
	web() *qbt.Client  // a client of the test's own
	downloads() string // the folder for torrents without a path; empty: there are no files
	kill()             // like kill -9
	restart(t testing.TB)
	// release makes the content of a torrent without a seeder available, and the metadata of a magnet link.
	release(l *library, made *torrentsim.SeededTorrent)
}

// newLibrary starts a rig without a worker on a qBittorrent.
func newLibrary(t testing.TB, server torrents, settings map[string]string) *library {
	t.Helper()
	return newLibraryOn(t, testdb.URL(t), server, settings)
}

// newLibraryOn is newLibrary on a migrated database of the test's own.
func newLibraryOn(t testing.TB, database string, server torrents, settings map[string]string) *library {
	t.Helper()
	return newLibraryFrom(t, server, settings, func(all map[string]string) *rig { return newRigOn(t, database, all) })
}

// newLibraryFrom is newLibrary on the rig that start makes with the settings of a library.
func newLibraryFrom(
	t testing.TB, server torrents, settings map[string]string, start func(settings map[string]string) *rig,
) *library {
	t.Helper()
	url, user, password := server.login()
	all := map[string]string{
		"STAGECOACH_QBITTORRENT_URL": url, "STAGECOACH_QBITTORRENT_USERNAME": user, "STAGECOACH_QBITTORRENT_PASSWORD": password,
		"STAGECOACH_DOWNLOAD_POLL_INTERVAL": pollEvery.String(),
		"STAGECOACH_DOWNLOAD_GRACE":         grace.String(), "STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true",
	}

	for name, value := range settings {
		all[name] = value
	}

	l := &library{rig: start(all), torrents: server}
	l.whole = l.rig
	must(t, l.ground.StartWebSeed())
	l.seed = l.ground.WebSeed
	l.seed.SetSpeed(seedSpeed)
	l.downloads = &downloads.Service{
		Temporal: l.client, Store: l.store, Log: slog.New(slog.DiscardHandler), CancelPatience: wait.Patience,
	}

	somebodyElses := l.torrent("foreign.epub", torrentsim.TorrentSpec{NoSeed: true})
	// job 1 of another installation
	l.addByHand(somebodyElses, map[string]string{"category": foreignCategory, "tags": "job-1,theirs"})
	wait.Eventually(l, "the foreign torrent is there", func() bool {
		l.foreign = l.find(somebodyElses)
		return l.foreign != nil && l.foreign.State == qbt.TorrentStateStalledDl
	})
	return l
}

// in passes the library to a part of its test.
func (l *library) in(t testing.TB) *library {
	part, whole := *l, *l.rig
	whole.TB, part.rig = t, &whole
	return &part
}

// parts runs parts of a test in parallel.
func (l *library) parts(t *testing.T, parts map[string]func(*library)) {
	var running sync.WaitGroup
	for name, part := range parts {
		running.Go(func() { t.Run(name, func(t *testing.T) { part(l.in(t)) }) })
	}
	running.Wait()
}

func webClient(url, user, password string) *qbt.Client {
	return qbt.NewClient(qbt.Config{Host: url, Username: user, Password: password, RetryAttempts: 1})
}

// all lists qBittorrent's torrents.
func (l *library) all() (listed []qbt.Torrent) {
	l.Helper()
	wait.Eventually(l, "qBittorrent lists its torrents", func() bool {
		var err error
		listed, err = l.torrents.web().GetTorrentsCtx(l.Context(), qbt.TorrentFilterOptions{})
		return err == nil
	})
	return listed
}

// find returns the torrent with this content.
func (l *library) find(made *torrentsim.SeededTorrent) *qbt.Torrent {
	l.Helper()
	for _, t := range l.all() {
		if made.InfohashV1 != "" && t.InfohashV1 == made.InfohashV1 || made.InfohashV2 != "" && t.InfohashV2 == made.InfohashV2 {
			return &t
		}
	}
	return nil
}

// tagged returns a job's torrent, among ours.
func (l *library) tagged(job download.Download) *qbt.Torrent {
	l.Helper()
	for _, t := range l.all() {
		if t.Category != foreignCategory && slices.Contains(tagsOf(t), job.Tag()) {
			return &t
		}
	}
	return nil
}

func tagsOf(t qbt.Torrent) []string {
	return strings.FieldsFunc(t.Tags, func(r rune) bool { return r == ',' || r == ' ' })
}

// torrent creates a torrent for a request, of a megabyte unless the specification says otherwise.
func (l *library) torrent(name string, spec torrentsim.TorrentSpec) *torrentsim.SeededTorrent {
	l.Helper()
	if spec.Name = name; spec.Size == 0 {
		spec.Size = 1 << 20
	}
	made, err := l.seed.Add(spec)
	must(l, err)
	return made
}

// unseeded creates a torrent that makes no progress until it is released.
func (l *library) unseeded(name string) *torrentsim.SeededTorrent {
	l.Helper()
	return l.torrent(name, torrentsim.TorrentSpec{NoSeed: true, Speed: 1 << 30})
}

// addByHand adds a torrent without the service.
func (l *library) addByHand(made *torrentsim.SeededTorrent, options map[string]string) {
	l.Helper()
	_, err := l.torrents.web().AddTorrentFromMemoryCtx(l.Context(), made.File, options)
	must(l, err)
}

var readers atomic.Int64

// reader makes a user.
func (l *library) reader() account.User {
	l.Helper()
	user, err := l.store.Accounts.CreateUser(
		l.Context(), account.User{Name: fmt.Sprintf("Reader %d", readers.Add(1)), Status: account.UserActive}, account.NewToken(),
	)
	must(l, err)
	return user
}

func (l *library) book(user account.User) download.Book {
	l.Helper()
	book, err := l.downloads.CreateBook(l.Context(), user, "Planted Title", "Planted Author", "")
	must(l, err)
	return book
}

// ask requests a download for a new book.
func (l *library) ask(user account.User, link string) download.Download {
	l.Helper()
	job, created, err := l.downloads.Start(
		l.Context(), user, downloads.Ask{BookID: l.book(user).ID, MediaType: download.MediaText, SourceURL: link},
	)
	must(l, err)
	if !created {
		l.Fatal("a download for a new book is an old one")
	}
	return job
}

// record creates only the row of a download, so that a test can prepare something; launch starts its workflow.
func (l *library) record(user account.User, link string) download.Download {
	l.Helper()
	job, _, err := l.store.Downloads.Create(l.Context(), download.Download{
		UserID: user.ID, BookID: l.book(user).ID, MediaType: download.MediaAudio, Source: "test", SourceURL: link,
	}, core.Event{Type: "enqueued", To: string(lifecycle.DownloadQueued)})
	must(l, err)
	return job
}

func (l *library) launch(job download.Download) {
	l.Helper()
	must(l, l.downloads.Launch(l.Context(), job))
}

// now reads a job again.
func (l *library) now(job download.Download) download.Download {
	l.Helper()
	must(l, core.RetryWhileUnavailable(l.Context(), func() error {
		found, err := l.store.Downloads.ByID(l.Context(), job.ID)
		if err == nil {
			job = found
		}
		return err
	}))
	return job
}

// becomes waits until a job fulfils a condition.
func (l *library) becomes(job download.Download, what string, so func(download.Download) bool) download.Download {
	l.Helper()
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(100 * time.Millisecond) { // twenty may wait at once
		if job = l.now(job); so(job) {
			return job
		}
		if time.Now().After(deadline) {
			l.Fatalf(
				"download %d never %s; it is %+v, with events %v\nqBittorrent has %s", job.ID, what, job, l.story(job), l.shown(),
			)
		}
	}
}

func (l *library) downloading(job download.Download) download.Download {
	l.Helper()
	return l.becomes(job, "downloading", func(d download.Download) bool { return d.State == lifecycle.DownloadDownloading })
}

// added waits until qBittorrent has a job's torrent.
func (l *library) added(job download.Download) download.Download {
	l.Helper()
	return l.becomes(job, "added", func(d download.Download) bool { return d.AddedAt != nil })
}

func (l *library) over(job download.Download) download.Download {
	l.Helper()
	return l.becomes(job, "over", func(d download.Download) bool { return lifecycle.Download.Terminal(d.State) })
}

// shown describes qBittorrent's torrents, for the message of a failure.
func (l *library) shown() string {
	var text strings.Builder
	for _, t := range l.all() {
		fmt.Fprintf(&text, "\n  %s %s %s [%s] %.2f", t.Name, t.State, t.Category, t.Tags, t.Progress)
	}
	return text.String()
}

// story lists the types of a job's events.
func (l *library) story(job download.Download) []string {
	l.Helper()
	events, err := l.store.Notices.EventsOf(l.Context(), "download", strconv.FormatInt(job.ID, 10))
	must(l, err)
	var types []string

	for i, event := range events {
		if event.Seq != int64(i+1) {
			l.Errorf("download %d: event %d has the number %d", job.ID, i+1, event.Seq)
		}
		types = append(types, event.Type)
	}
	return types
}

// wantStory fails the test unless a job has had exactly these events.
func (l *library) wantStory(job download.Download, want ...string) {
	l.Helper()
	if got := l.story(job); !slices.Equal(got, want) {
		l.Errorf("download %d has the events %v, want %v", job.ID, got, want)
	}
}

// completes waits for the end of a job, which must be COMPLETED, and checks it.
func (l *library) completes(job download.Download) download.Download {
	l.Helper()
	return l.ends(job, lifecycle.DownloadCompleted, "")
}

// ends waits for the end of a job, and checks that the record, Temporal and qBittorrent agree on it.
func (l *library) ends(job download.Download, status lifecycle.DownloadState, reason string) download.Download {
	l.Helper()
	job = l.over(job)
	got := ""
	if job.FailureReason != nil {
		got = *job.FailureReason
	}

	if job.State != status || got != reason {
		l.Fatalf(
			"download %d is %s %q (%s), want %s %q; events %v", job.ID, job.State, got, job.LastError, status, reason,
			l.story(job),
		)
	}

	for _, trouble := range l.disagreements(job) {
		l.Error(trouble)
	}
	return job
}

// closings are the close statuses of an ended job's workflow.
var closings = map[lifecycle.DownloadState]enumspb.WorkflowExecutionStatus{
	lifecycle.DownloadCompleted: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	lifecycle.DownloadFailed:    enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
	lifecycle.DownloadCanceled:  enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
}

// disagreements compares an ended job's record with its workflow and with qBittorrent, which may lag a little.
func (l *library) disagreements(job download.Download) (troubles []string) {
	l.Helper()
	trouble := func(format string, args ...any) {
		troubles = append(troubles, fmt.Sprintf("download %d, %s: ", job.ID, job.State)+fmt.Sprintf(format, args...))
	}

	ends := 0
	story := l.story(job)
	for _, event := range story {
		if slices.Contains([]string{"completed", "failed", "canceled"}, event) {
			ends++
		}
	}

	if ends != 1 || story[len(story)-1] != string(job.State) {
		trouble("its events are %v", story)
	}

	closing := enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	if !l.soon(func() bool {
		described, err := l.client.DescribeWorkflowExecution(l.Context(), job.WorkflowID(), "")
		closing = described.GetWorkflowExecutionInfo().GetStatus()
		return err == nil && closing != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}) || closing != closings[job.State] {
		trouble("its workflow is %s", closing)
	}

	book, err := l.store.Downloads.BookByID(l.Context(), job.BookID)
	must(l, err)
	asset := slices.ContainsFunc(book.Media, func(m download.MediaAsset) bool {
		return m.MediaType == job.MediaType && m.Status == download.MediaAvailable && (m.Path == job.ContentPath) != job.Imported && m.SourceURL == job.SourceURL
	})

	completed := job.State == lifecycle.DownloadCompleted
	if completed != asset || completed != (book.State == download.BookLibrary) {
		trouble("the book is %+v", book)
	}

	if completed && (job.CompletedAt == nil || job.Progress != 1 || job.ContentPath == "" || job.Speed != 0 || job.FirstNotFoundAt != nil) {
		trouble("the record is %+v", job)
	}

	var last string
	if !l.soon(func() bool {
		there := l.tagged(job)
		if there == nil {
			last = "not there"
			return !completed || l.careless
		}
		last = fmt.Sprintf("%s %s [%s] %.2f", there.State, there.Category, there.Tags, there.Progress)
		return completed && strings.HasPrefix(there.Category, doneCategory+"-") && (there.Progress == 1 || l.careless)
	}) {
		trouble("its torrent is %s", last)
	}

	return troubles
}

// soon waits for a condition, and reports whether it came true.
func (l *library) soon(holds func() bool) bool {
	for deadline := time.Now().Add(wait.Patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// wantTidy checks what all jobs together have left in qBittorrent: no torrent is active without a live job, no job's
// tag is left without a torrent, and foreign torrents are unchanged.
func (l *library) wantTidy() {
	l.Helper()
	var trouble string
	if !l.soon(func() bool { trouble = l.untidy(); return trouble == "" }) {
		l.Error(trouble)
	}
}

func (l *library) untidy() (trouble string) {
	l.Helper()
	held := map[string]bool{}
	for _, t := range l.all() {
		for _, tag := range tagsOf(t) {
			held[tag] = true
		}

		switch t.Category {
		case activeCategory:
			if !slices.ContainsFunc(tagsOf(t), l.live) {
				return fmt.Sprintf("nobody waits for %s [%s], which is active", t.Name, t.Tags)
			}
		case foreignCategory:
			if t.Tags != l.foreign.Tags || t.State != l.foreign.State || t.SavePath != l.foreign.SavePath {
				return fmt.Sprintf("the foreign torrent is %+v, and was %+v", t, *l.foreign)
			}
			held[foreignCategory] = true
		}
	}

	if !held[foreignCategory] {
		return "the foreign torrent is gone"
	}

	tags, err := l.torrents.web().GetTagsCtx(l.Context())
	if err != nil {
		return err.Error()
	}
	for _, tag := range tags {
		if strings.HasPrefix(tag, download.DownloadTagPrefix) && !held[tag] {
			job := l.now(download.Download{ID: download.TaggedBy([]string{tag})[0].Job})
			if l.careless && job.State == lifecycle.DownloadCompleted {
				continue
			}
			return fmt.Sprintf("tag %s is left over, %s: %v", tag, job.State, l.story(job))
		}
	}

	return ""
}

// live reports whether a tag belongs to a job that has not ended.
func (l *library) live(tag string) bool {
	named := download.TaggedBy([]string{tag})
	if len(named) == 0 {
		return false
	}
	job, err := l.store.Downloads.ByID(l.Context(), named[0].Job)
	return err == nil && !lifecycle.Download.Terminal(job.State)
}

// wantContent checks the file of a completed job, if there are files.
func (l *library) wantContent(job download.Download, made *torrentsim.SeededTorrent) {
	l.Helper()
	if l.torrents.downloads() == "" {
		return
	}
	data, err := os.ReadFile(job.ContentPath)
	must(l, err)
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != made.SHA256 {
		l.Errorf("%s is not what was to be downloaded", job.ContentPath)
	}
}

// wantFiles checks whether a job's files are left, if there are files.
func (l *library) wantFiles(job download.Download, made *torrentsim.SeededTorrent, want bool) {
	l.Helper()
	if l.torrents.downloads() == "" {
		return
	}

	path := filepath.Join(job.SavePath, made.Name)
	if !l.soon(func() bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist) != want
	}) {
		l.Errorf("%s: want it to be there: %v", path, want)
	}
}

// content returns the content of a file of a torrent, by the torrent's name and the file's path in it.
func (l *library) content(name string) []byte {
	l.Helper()
	response, err := http.Get(l.seed.URL + "/content/" + name)
	must(l, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	must(l, err)
	return data
}
