package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// firstWish is the chat of the first user who wishes for a book.
const firstWish = 500_000

// wish is a download of a release found by a search, which is sent to a chat once it is complete.
type wish struct {
	reader account.User
	token  string
	job    download.Download
}

// libraryFolder creates a library folder. Half the time it is on another file system than the downloads, so that files
// are copied, not linked.
func libraryFolder(t testing.TB) string {
	t.Helper()
	parent := t.TempDir()
	if rand.IntN(2) == 0 {
		if other, err := os.MkdirTemp("/dev/shm", "stagecoach-soak-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(other) })
			parent = other
		}
	}
	dir := filepath.Join(parent, "library")
	must(t, os.Mkdir(dir, 0o755))
	t.Logf("the library folder is %s", dir)
	return dir
}

// startTorznab starts an indexer without releases for the programs.
func (s *soak) startTorznab() {
	s.Helper()
	must(s, s.ground.StartTorznab(torznabsim.Options{Key: "planted-torznab-key"}))
}

// asked repeats a request with the same key until it is answered.
func (s *soak) asked(token, path string, body any) (made map[string]any) {
	s.Helper()
	key := "soak-" + nonce()
	wait.Eventually(s, "POST "+path, func() bool {
		got := s.call("POST", path, token, body, "Idempotency-Key", key)
		if got.status == http.StatusBadRequest || got.status == http.StatusUnprocessableEntity {
			s.Fatalf("POST %s answered %d %v", path, got.status, got.body)
		}
		made = got.body
		return got.status == http.StatusCreated || got.status == http.StatusOK
	})
	return made
}

// find searches for a book. It requests the first release, with the others as fallback sources, and sending.
func (s *soak) find() {
	s.Helper()
	n := len(s.wishes)
	w := wish{reader: s.user(firstWish + int64(n))}
	wait.Eventually(s, "a token", func() bool {
		got := s.call("POST", fmt.Sprintf("/v1/users/%d/token", w.reader.ID), adminToken, nil)
		w.token, _ = got.body["token"].(string)
		return w.token != ""
	})

	words := fmt.Sprintf("wheels w%04d", n)
	s.offer(n, words)
	// Several books share a title, so that their imports compete for one place.
	book := s.asked(w.token, "/v1/books", map[string]any{
		"title": fmt.Sprintf("Planted Wheels %d", n/4), "author": "Planted Author",
	})["id"]

	var sources []map[string]any
	wait.Eventually(s, "an indexer finds "+words, func() bool {
		sources = s.releases(w.token, words)
		return len(sources) > 0
	})
	made := s.asked(w.token, "/v1/downloads", map[string]any{
		"book_id": book, "media_type": download.MediaText, "source_url": sources[0]["source_url"], "sources": sources, "send": true,
	})
	id, err := strconv.ParseInt(made["id"].(string), 10, 64)
	must(s, err)
	w.job = s.now(download.Download{ID: id})
	s.wishes = append(s.wishes, w)
}

// releases are the results of a search, as sources of a download.
func (s *soak) releases(token, words string) (sources []map[string]any) {
	s.Helper()
	found := s.call("GET", "/v1/releases?media_type=text&q="+url.QueryEscape(words), token, nil)
	items, _ := found.body["items"].([]any)
	for _, item := range items {
		source := map[string]any{}
		for _, field := range []string{"source_url", "title", "indexer", "size", "infohash"} {
			source[field] = item.(map[string]any)[field]
		}
		sources = append(sources, source)
	}
	return sources
}

// offer publishes three releases on the indexer. The first one's file may be missing, it may not be a book, or it may
// have no seeds.
func (s *soak) offer(n int, words string) {
	s.Helper()
	for i := range 3 {
		name := fmt.Sprintf("wish-%d-%d.epub", n, i)
		if i == 0 && n%4 == 2 {
			name += ".nfo"
		}
		made := s.seedless(name, 300_000)
		release := torznabsim.Release{
			Title: fmt.Sprintf("Planted Author - %s (epub, %d)", words, i), Size: made.Size, Seeders: 30 - i, Peers: 30,
		}
		switch rand.IntN(3) {
		case 0:
			release.Torrent, release.Infohash = made.URL, made.InfohashV1
		case 1:
			release.Magnet = made.Magnet()
		default:
			release.Magnet, release.Leads = made.Magnet(), true
		}

		switch {
		case i == 0 && n%4 == 0:
			release.Torrent, release.Magnet = s.seed.URL+"/gone.torrent", ""
		case i > 0 || n%4 < 3:
			s.shared = append(s.shared, made)
		}
		s.ground.Torznab.Add(release)
	}
}

// seedless makes a torrent without a web seed.
func (s *soak) seedless(name string, size int64) *torrentsim.SeededTorrent {
	s.Helper()
	made := s.torrent(name, torrentsim.TorrentSpec{NoSeed: true, Size: size, Speed: 1 << 30})
	s.made[made.InfohashV1] = made
	return made
}

// complete completes some or all of the shared torrents that qBittorrent has. A source that stalls for too long gives
// way to the next one, and may complete anyway.
func (s *soak) complete(all bool) (some bool) {
	s.Helper()
	s.shared = slices.DeleteFunc(s.shared, func(made *torrentsim.SeededTorrent) bool {
		released := (all || rand.IntN(3) == 0) && s.qbittorrent.releases(s.library, made)
		some = some || released
		return released
	})
	return some
}

// slowDownRecord slows down recording that a download has completed, or was sent.
func (s *soak) slowDownRecord() {
	s.Helper()
	s.sql(`CREATE FUNCTION soak_pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
		CREATE TRIGGER soak_pause BEFORE UPDATE ON download_jobs FOR EACH ROW
		WHEN (NEW.status = 'completed' AND OLD.status <> 'completed' OR NEW.sent_at IS NOT NULL AND OLD.sent_at IS NULL)
		EXECUTE FUNCTION soak_pause()`)
}

// killBeforeRecord kills the worker after it has put files into the library folder, or has created deliveries, and
// before that is in the download's record: PostgreSQL rolls back what such a worker was about to write.
func (s *soak) killBeforeRecord() {
	s.Helper()
	time.Sleep(rand.N(800 * time.Millisecond))
	const paused = ` FROM pg_stat_activity WHERE wait_event = 'PgSleep'`
	for range 40 {
		if s.sql(`SELECT pid`+paused) > 0 {
			s.restarts["worker killed before the record"]++
			s.worker.kill()
			s.sql(`SELECT pg_terminate_backend(pid)` + paused)
			s.startWorker()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// calmLibrary waits until all downloads have ended. A person retries imports that have failed too often.
func (s *soak) calmLibrary() {
	s.Helper()
	left := slices.Clone(s.downloads)
	for _, w := range s.wishes {
		left = append(left, w.job)
	}
	ended := func(job download.Download) bool {
		if job = s.now(job); job.Attention == string(fault.ImportFailed) {
			_, err := s.library.downloads.RetryImport(s.Context(), account.User{ID: job.UserID}, job.ID, "")
			must(s, err)
			s.faults["import repeated by a person"]++
		}
		return lifecycle.Download.Terminal(job.State)
	}

	if !s.soon(func() bool {
		s.complete(true)
		left = slices.DeleteFunc(left, ended)
		return len(left) == 0
	}) {
		s.Fatalf("%d downloads do not end, such as %+v with %v\nqBittorrent has %s", len(left), s.now(left[0]), s.story(left[0]), s.shown())
	}
}

// compareLibrary compares the record of downloads with qBittorrent, the library folder, the catalogue and the chats.
func (s *soak) compareLibrary() {
	s.Helper()
	var jobs []download.Download
	for _, job := range s.downloads {
		jobs = append(jobs, s.over(job))
	}

	places := map[int]int{} // wishes by the index of the completed source
	for _, w := range s.wishes {
		job := s.over(w.job)
		jobs = append(jobs, job)
		places[job.SourcePlace]++
		if job.SentAt == nil || job.Attention != "" {
			s.differs("download %d is not sent: %+v", job.ID, job)
		}
		if made := s.made[job.InfohashV1]; made == nil {
			s.differs("download %d has a torrent of nobody: %+v", job.ID, job)
		} else if trouble := s.missent(w.reader, made.SHA256); trouble != "" {
			s.differs("download %d: %s", job.ID, trouble)
		}
	}

	s.compareShelves(jobs)
	s.wantTidy()
	s.Logf("wishes %d, by the place of their source %v", len(s.wishes), places)
}

// compareShelves compares completed downloads with their books, with the library folder and with the catalogue. Each
// has one file, and there are no others.
func (s *soak) compareShelves(jobs []download.Download) {
	s.Helper()
	shown, want := s.catalogue(), map[string]string{} // sha256 by path
	for _, job := range jobs {
		if job.State != lifecycle.DownloadCompleted || s.made[job.InfohashV1] == nil {
			s.differs("download %d is %s: %v", job.ID, job.State, s.story(job))
			continue
		}
		for _, trouble := range s.disagreements(job) {
			s.differs("%s", trouble)
		}

		made := s.made[job.InfohashV1]
		files, err := s.store.Downloads.FilesOf(s.Context(), []int64{job.BookID}, 2)
		must(s, err)
		book, err := s.store.Downloads.BookByID(s.Context(), job.BookID)
		must(s, err)
		if !job.Imported || len(files) != 1 || len(book.Media) != 1 || files[0].Size != made.Size || files[0].Path != book.Media[0].Path {
			s.differs("download %d has the files %+v of %+v", job.ID, files, book)
			continue
		}
		if want[files[0].Path] != "" {
			s.differs("two books have the file %q", files[0].Path)
		}
		want[files[0].Path] = made.SHA256

		at := shown[job.BookID]
		if len(at) != 1 || sumOf(s.reads(at[0])) != made.SHA256 {
			s.differs("the catalogue shows download %d as %q", job.ID, at)
		}
	}

	lies := s.lies()
	for path, sum := range lies {
		if want[path] != sum {
			s.differs("in the library folder lies %q with sha256 %s, want %q", path, sum, want[path])
		}
	}
	if len(lies) != len(want) {
		s.differs("in the library folder lie %d files, want %d", len(lies), len(want))
	}
}

// lies returns the sha256 of each file in the library folder by path, except the abuser's.
func (s *soak) lies() map[string]string {
	s.Helper()
	lies, dir := map[string]string{}, s.env["STAGECOACH_LIBRARY_DIR"]
	must(s, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == abuserAuthor:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		data, err := os.ReadFile(name)
		lies[strings.TrimPrefix(name, dir+"/")] = sumOf(data)
		return err
	}))
	return lies
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// catalogue returns the URLs of each book's files in the reading apps' catalogue.
func (s *soak) catalogue() map[int64][]string {
	s.Helper()
	type links []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	}

	shown := map[int64][]string{}
	for at := "/opds"; at != ""; {
		var page struct {
			Links   links `xml:"link"`
			Entries []struct {
				ID    string `xml:"id"`
				Links links  `xml:"link"`
			} `xml:"entry"`
		}
		must(s, xml.Unmarshal(s.reads(at), &page))
		for _, entry := range page.Entries {
			book, err := strconv.ParseInt(strings.TrimPrefix(entry.ID, "urn:stagecoach:book:"), 10, 64)
			must(s, err)
			for _, file := range entry.Links {
				shown[book] = append(shown[book], file.Href)
			}
		}

		at = ""
		for _, link := range page.Links {
			if link.Rel == "next" {
				at = link.Href
			}
		}
	}
	return shown
}

// reads fetches what a reading app gets.
func (s *soak) reads(path string) (data []byte) {
	s.Helper()
	wait.Eventually(s, "GET "+path, func() bool {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.apiURL+path, nil)
		must(s, err)
		request.SetBasicAuth("ann", s.ann.token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		data, err = io.ReadAll(response.Body)
		return err == nil && response.StatusCode == http.StatusOK
	})
	return data
}
