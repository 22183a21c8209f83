package download_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// bomb is a .torrent file of 10 MB that describes 5.2 million empty files.
func bomb() []byte {
	return []byte("d4:infod5:filesl" + strings.Repeat(
		"de", 5_200_000,
	) + "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee")
}

// TestBomb asks for a file of 10 MB that describes 5.2 million empty files: it is refused at once, before
// qBittorrent is given it.
func TestBomb(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{}, time.Minute)
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write(bomb())
	}))

	t.Cleanup(site.Close)
	got := w.becomes(w.start(site.URL+"/bomb.torrent"), lifecycle.DownloadFailed)
	if *got.FailureReason != string(fault.EnqueueFailed) || got.LastError != string(fault.SourceNotTorrent) {
		t.Errorf("%+v", got)
	}
	if handed := w.qb.Torrents(); len(handed) > 0 {
		t.Errorf("qBittorrent was given %+v", handed)
	}
}

// TestHundredFetches lets a hundred files be fetched from a site that never answers. Two are asked for at a time, and
// whatever lies on the main queue, as payments do, goes on: here another's download, from its start to its end.
func TestHundredFetches(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{}, time.Minute)
	var mu sync.Mutex
	now, most := 0, 0
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-r.Context().Done()
		mu.Lock()
		now--
		mu.Unlock()
	}))

	t.Cleanup(func() { silent.CloseClientConnections(); silent.Close() })
	var jobs []download.Download
	for range 100 {
		w.book = w.newBook()
		jobs = append(jobs, w.start(silent.URL))
	}

	t.Cleanup(func() { // before the world is taken down
		for _, job := range jobs {
			_ = w.client.TerminateWorkflow(context.WithoutCancel(t.Context()), job.WorkflowID(), "", "the test is over")
		}
	})

	w.eventually("two are being fetched", func() bool { mu.Lock(); defer mu.Unlock(); return now == 2 })

	w.book, w.reader = w.newBook(), w.user(account.RoleUser)
	w.becomes(w.start(magnet(5)), lifecycle.DownloadCompleted)
	live, err := w.store.Downloads(t.Context(), download.Filter{Status: lifecycle.DownloadQueued, Limit: 1000})
	w.must(err)
	mu.Lock()
	defer mu.Unlock()

	if len(live) != 100 || most != 2 {
		t.Errorf("%d are queued still, %d were fetched at once", len(live), most)
	}
}
