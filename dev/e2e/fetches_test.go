package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestLongPaymentBesideFetches sells Stars while a hundred .torrent files are requested from a site that never answers. One
// worker serves both, and the payment completes while the fetches hang.
func TestLongPaymentBesideFetches(t *testing.T) {
	night.Only(t)
	t.Parallel()
	needsServers(t)
	temporal := startTemporal(t)
	var fetching atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fetching.Add(1)
		defer fetching.Add(-1)
		<-r.Context().Done()
	}))

	t.Cleanup(func() { silent.CloseClientConnections(); silent.Close() })
	torrents := newStandIn(t)
	l := newPaymentRig(t, temporal, "beside-fetches")
	maps.Copy(l.env, map[string]string{
		"STAGECOACH_QBITTORRENT_URL": torrents.server.URL, "STAGECOACH_QBITTORRENT_USERNAME": "admin", "STAGECOACH_QBITTORRENT_PASSWORD": qbittorrentPassword,
		"STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true",
	})
	l.startWorker()

	admin, err := l.store.Accounts.CreateUser(
		t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken(),
	)

	must(t, err)
	service := &downloads.Service{
		Temporal: l.client, Store: l.store, Log: slog.New(slog.DiscardHandler), CancelPatience: wait.Patience,
	}

	const wanted = 100
	for i := range wanted {
		book, err := service.CreateBook(t.Context(), admin, fmt.Sprint("Planted Title ", i), "Planted Author", "")
		must(t, err)
		_, _, err = service.Start(
			t.Context(), admin, downloads.Ask{BookID: book.ID, MediaType: download.MediaText, SourceURL: silent.URL},
		)
		must(t, err)
	}

	wait.Eventually(l, "files are being fetched", func() bool { return fetching.Load() == 2 })

	hash := l.deposit("durov 50")
	l.becomes(hash, lifecycle.TransactionProcessed)
	wait.Eventually(l, "files are being fetched yet", func() bool { return fetching.Load() == 2 })
	waiting, err := l.store.Downloads.List(
		t.Context(), download.Filter{Status: lifecycle.DownloadQueued, Limit: 2 * wanted},
	)

	must(t, err)
	if len(waiting) != wanted {
		t.Errorf("%d downloads wait still, of %d", len(waiting), wanted)
	}
	if n := l.outgoing(); n != 1 {
		t.Errorf("%d payments went out", n)
	}

	l.balances()
}

// buildPlainWorker builds the worker without the race detector, which needs memory itself.
var buildPlainWorker = sync.OnceValues(func() (string, error) {
	plain := stack.Programs{Dir: filepath.Join(programs, "plain")}
	return plain.Path("worker"), plain.Build(context.Background(), "worker")
})

// TestNightBomb serves a real worker a file of 10 MB that describes 5.2 million empty files: its memory grows by less
// than 32 MiB, and its job fails.
func TestNightBomb(t *testing.T) {
	t.Parallel()
	night.Only(t)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}

	bomb := []byte("d4:infod5:filesl" + strings.Repeat(
		"de", 5_200_000,
	) + "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee")

	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bomb) }))
	t.Cleanup(site.Close)
	l := newLibrary(t, newStandIn(t), nil)
	path, err := buildPlainWorker()
	must(t, err)
	l.worker = l.run(path)

	// The first download opens the connections and fills the caches.
	made := l.unseeded("before-the-bomb.epub")
	first := l.ask(l.reader(), made.URL)
	l.torrents.release(l, made)
	l.completes(first)
	time.Sleep(2 * time.Second)
	pid := l.worker.Process.Pid
	// from here on the peak is measured, if that is allowed
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	before := memoryOf(t, pid, "VmHWM")

	job := l.ends(l.ask(l.reader(), site.URL+"/bomb.torrent"), lifecycle.DownloadFailed, string(fault.EnqueueFailed))
	if job.LastError != string(fault.SourceNotTorrent) {
		t.Errorf("%+v", job)
	}

	grown := memoryOf(t, pid, "VmHWM") - before
	t.Logf("the worker has grown from %d by %d KiB", before, grown)
	if grown >= 32<<10 {
		t.Errorf("the worker has grown by %d KiB", grown)
	}
}

// memoryOf reads a line of a process's status, in KiB.
func memoryOf(t testing.TB, pid int, line string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	found := regexp.MustCompile(line + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("%s is not told", line)
	}
	kib, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return kib
}
