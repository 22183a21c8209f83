package download

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

const (
	plantedFile   = "Planted release/planted.epub"
	plantedFolder = "Planted Author/Planted Title" // in the library
	plantedPlace  = plantedFolder + "/Planted Title.epub"
)

// TestNamesReachNoLogAndNoError marks a book, its files, the release and the links to it, and lets downloads and
// imports fail in every possible way: the log, and the errors kept by Temporal, name only the job.
func TestNamesReachNoLogAndNoError(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/planted-page":
			fmt.Fprint(w, "<html>planted")
		case "/planted-broken":
			fmt.Fprint(w, "d4:infod4:name7:planted")
		case "/planted-leads":
			http.Redirect(w, r, "ftp://planted.invalid/planted", http.StatusFound)
		case "/planted-cut":
			w.Header().Set("Content-Length", "70")
			fmt.Fprint(w, "planted")
		default:
			http.Error(w, "planted", http.StatusNotFound)
		}
	}))
	t.Cleanup(site.Close)

	book := map[string]string{plantedFile: epub}
	named := magnet(1) + "&dn=Planted&tr=http%3A%2F%2Fplanted.invalid%2Fplanted"

	source := func(s *shelf, job download.Download) string {
		return filepath.Join(s.downloads, job.Tag(), plantedFile)
	}
	linked := func(meanwhile func(from, to string) error) func(*shelf, download.Download) {
		return func(s *shelf, _ download.Download) {
			s.Activities.Library.Link = func(from, to string) error {
				s.must(meanwhile(from, to))
				return crossDevice(from, to)
			}
		}
	}

	for name, c := range map[string]struct {
		files  map[string]string // of a complete torrent to import; nil: link is handed over
		link   string
		break_ func(s *shelf, job download.Download)
	}{
		"the file has vanished": {files: book, break_: func(s *shelf, job download.Download) { s.must(os.Remove(source(s, job))) }},
		"a folder in its place": {files: book, break_: func(s *shelf, job download.Download) {
			s.must(os.Remove(source(s, job)))
			s.must(os.Mkdir(source(s, job), 0o755))
		}},
		"the file is a link to itself": {files: book, break_: func(s *shelf, job download.Download) {
			s.must(os.RemoveAll(filepath.Dir(source(s, job))))
			s.must(os.Symlink("planted release", filepath.Dir(source(s, job))))
		}},
		"another size": {files: book, break_: func(s *shelf, job download.Download) { s.write(source(s, job), epub+"!") }},
		"no folder of the torrent": {files: book, break_: func(s *shelf, job download.Download) {
			s.must(os.Rename(filepath.Dir(filepath.Dir(source(s, job))), filepath.Join(s.downloads, "planted")))
		}},
		"unsuitable":     {files: map[string]string{"planted.nfo": "planted"}},
		"another format": {files: map[string]string{plantedFile: "planted"}},
		"a way out":      {files: map[string]string{"../planted.epub": epub}},
		"no library": {files: book, break_: func(s *shelf, _ download.Download) {
			s.Activities.Library.Dir = filepath.Join(s.library, "planted")
		}},
		"the library leads out": {files: book, break_: func(s *shelf, _ download.Download) {
			s.must(os.Symlink(s.downloads, filepath.Join(s.library, filepath.Dir(plantedFolder))))
		}},
		"the library goes while it is written": {files: book, break_: linked(func(_, to string) error { return os.RemoveAll(filepath.Dir(to)) })},
		"the file shrinks while it is copied":  {files: book, break_: linked(func(from, _ string) error { return os.Truncate(from, 1) })},
		"all names are taken": {files: book, break_: func(s *shelf, job download.Download) {
			s.write(filepath.Join(s.library, plantedPlace), "planted")
			for n := 2; n <= 5; n++ {
				s.write(filepath.Join(s.library, fmt.Sprintf("%s/Planted Title (%d).epub", plantedFolder, n)), "planted")
			}
			s.write(filepath.Join(s.library, fmt.Sprintf("%s/Planted Title  (%d).epub", plantedFolder, job.ID)), "planted")
			s.write(filepath.Join(s.library, fmt.Sprintf("Planted Title  (%d).epub", job.ID)), "planted")
		}},
		"qBittorrent is away at the import": {files: book, break_: func(s *shelf, _ download.Download) {
			s.qb.AddFault(sim.Fault{Kind: "cut", Times: 9})
		}},

		"a magnet link is refused": {link: named, break_: func(s *shelf, _ download.Download) {
			s.qb.AddFault(sim.Fault{Match: "torrents/add", Kind: "fails"})
		}},
		"qBittorrent is away":     {link: named, break_: func(s *shelf, _ download.Download) { s.qb.AddFault(sim.Fault{Kind: "cut", Times: 9}) }},
		"the folder is not known": {link: named, break_: func(s *shelf, _ download.Download) { s.qb.AddFault(sim.Fault{Kind: "409", Times: 9}) }},
		"a torrent of somebody else": {link: named, break_: func(s *shelf, _ download.Download) {
			s.must(s.qb.Put(torrentsim.Torrent{InfohashV1: magnet(1)[20:], Name: "planted", Size: 5, Category: "planted"}))
		}},
		"no such link":        {link: site.URL + "/planted?key=planted"},
		"a page":              {link: site.URL + "/planted-page"},
		"unreadable metadata": {link: site.URL + "/planted-broken"},
		"it leads elsewhere":  {link: site.URL + "/planted-leads"},
		"it is cut":           {link: site.URL + "/planted-cut"},
		"no such host":        {link: "http://planted.invalid/planted"},
		"no port":             {link: "http://127.0.0.1:1/planted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			var heard bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&heard, &slog.HandlerOptions{Level: slog.LevelDebug}))
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(sdklog.NewStructuredLogger(s.Log))
			s.env = suite.NewTestActivityEnvironment()
			s.env.RegisterActivity(s.Activities)

			var err error
			s.book, err = s.Store.Downloads.CreateBook(t.Context(), "Planted Title", "Planted Author", core.Request{UserID: s.user().ID})
			s.must(err)
			var job download.Download
			if c.files != nil {
				job = s.complete("text", c.files)
			} else {
				job = s.job(c.link)
			}
			if c.break_ != nil {
				c.break_(s, job)
			}
			if c.files != nil {
				_, err = s.importOf(job)
			} else {
				err = s.add(job)
			}
			if err == nil {
				t.Fatalf("it has not failed; the log has %s", &heard)
			}

			kept := fmt.Sprintf("%v %v", err, temporal.GetDefaultFailureConverter().ErrorToFailure(err))
			for where, text := range map[string]string{"the log": heard.String(), "the error": kept, "the record": s.reload(job).LastError} {
				if lower := strings.ToLower(text); strings.Contains(lower, "planted") || strings.Contains(lower, "magnet:") {
					t.Errorf("%s tells a name: %s", where, text)
				}
			}
			if !strings.Contains(heard.String(), fmt.Sprint("download=", job.ID)) {
				t.Errorf("the log does not name the job: %s", &heard)
			}
		})
	}
}
