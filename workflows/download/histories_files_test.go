package download_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// TestRecordHistoriesOfFiles saves histories of jobs whose .torrent file is fetched: one that completes, one whose file
// is refused, and one that goes on in another run.
func TestRecordHistoriesOfFiles(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=40")
	w := newRigOn(
		t, server, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, 2*time.Second,
	)

	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(bomb()) }))
	t.Cleanup(site.Close)
	seed, err := torrentsim.StartWebSeed("127.0.0.1:0")
	w.must(err)
	t.Cleanup(func() { _ = seed.Close() })
	begin := func(name string) download.Download {
		made, err := seed.Add(torrentsim.TorrentSpec{Name: name, Size: 1000})
		w.must(err)
		w.book = w.newBook()
		return w.becomes(w.start(made.URL), lifecycle.DownloadDownloading)
	}

	completes := func(job download.Download) {
		state := "stalledUP"
		w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &state}))
		w.closed(job)
	}

	had := func(job download.Download, event string) {
		w.eventually(event, func() bool { types := w.events(job); return types[len(types)-1] == event })
	}

	job := begin("fetched.epub")
	completes(job)
	version.Save(t, "", "file-fetched", w.history(job.WorkflowID(), ""))

	w.book = w.newBook()
	job = w.becomes(w.start(site.URL+"/bomb.torrent"), lifecycle.DownloadFailed)
	w.closed(job)
	version.Save(t, "", "file-refused", w.history(job.WorkflowID(), ""))

	job = begin("again.epub")
	first := w.history(job.WorkflowID(), "")[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	for range 6 {
		w.exec(`UPDATE download_jobs SET progress_at = now() - interval '2 days' WHERE id = $1`, job.ID)
		had(job, "stalled")
		w.exec(`UPDATE download_jobs SET progress_at = now() WHERE id = $1`, job.ID)
		had(job, "recovered")
	}

	completes(job)
	before := w.history(job.WorkflowID(), first)
	if last := before[len(before)-1].EventType; last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
		t.Errorf("the first run ended with %s", last)
	}

	version.Save(t, "", "file-before-continue-as-new", before)
	version.Save(t, "", "file-after-continue-as-new", w.history(job.WorkflowID(), ""))
}
