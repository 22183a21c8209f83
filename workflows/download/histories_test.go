package download_test

import (
	"context"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	downloadstore "stagecoach/internal/store/download"
	"stagecoach/workflows/download"
)

// TestRecordHistories saves the histories that are replayed.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=40")
	w := newRigOn(
		t, server, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, 2*time.Second,
	)

	ctx := t.Context()
	save := func(name string, events []*historypb.HistoryEvent) { version.Save(t, "", name, events) }
	over := func(job downloadstore.Download) []*historypb.HistoryEvent {
		t.Helper()
		w.closed(job)
		return w.history(job.WorkflowID(), "")
	}

	n := int64(0)
	begin := func() downloadstore.Download {
		t.Helper()
		n++
		w.book = w.newBook()
		return w.becomes(w.start(magnet(n)), lifecycle.DownloadDownloading)
	}

	shows := func(job downloadstore.Download, state string) {
		t.Helper()
		w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &state}))
	}

	had := func(job downloadstore.Download, event string) {
		t.Helper()
		w.eventually(event, func() bool { types := w.events(job); return types[len(types)-1] == event })
	}

	job := begin()
	shows(job, "stalledUP")
	save("completed", over(job))

	job = begin()
	w.must(w.qb.Remove(job.Tag()))
	save("missing", over(job))

	job = begin()
	w.must(w.qb.Restart(1))
	had(job, "found_again")
	shows(job, "uploading")
	save("lost-in-a-restart-and-completed", over(job))

	job = begin()
	shows(job, "error")
	w.eventually("it is told to go on", func() bool { return w.reload(job).ResumedAt != nil })
	shows(job, "error")
	w.exec(`UPDATE download_jobs SET resumed_at = now() - interval '1 minute'`)
	save("broken-twice", over(job))

	job = begin()
	w.exec(`UPDATE download_jobs SET progress_at = now() - interval '2 days' WHERE id = $1`, job.ID)
	had(job, "stalled")
	_, err := w.jobs.Cancel(ctx, w.reader, job.ID, false)
	w.must(err)
	save("stalled-and-cancelled", over(job))

	job = begin()
	w.must(w.client.CancelWorkflow(ctx, job.WorkflowID(), ""))
	save("cancelled-by-operator", over(job))

	w.book = w.newBook()
	w.must(w.qb.Put(torrentsim.Torrent{InfohashV1: magnet(1000)[20:], Name: "theirs", Size: 5, Category: "films"}))
	save("not-begun", over(w.start(magnet(1000))))

	job = begin()
	first := w.history(job.WorkflowID(), "")[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	for range 6 {
		w.exec(`UPDATE download_jobs SET progress_at = now() - interval '2 days' WHERE id = $1`, job.ID)
		had(job, "stalled")
		w.exec(`UPDATE download_jobs SET progress_at = now() WHERE id = $1`, job.ID)
		had(job, "recovered")
	}

	shows(job, "stalledUP")
	save("after-continue-as-new", over(job))
	before := w.history(job.WorkflowID(), first)
	if last := before[len(before)-1].EventType; last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
		t.Errorf("the first run ended with %s", last)
	}

	save("before-continue-as-new", before)

	// The watcher's hour is over at once.
	w.must(w.client.TerminateWorkflow(ctx, w.syncID(), "", "the next one is to be recorded"))
	w.stopWorker()
	hasty := worker.New(w.client, lifecycle.MainQueue, worker.Options{})
	hasty.RegisterWorkflowWithOptions(download.Sync, workflow.RegisterOptions{Name: lifecycle.DownloadSyncType})
	hasty.RegisterActivityWithOptions(
		func(context.Context) error { return nil }, activity.RegisterOptions{Name: "SyncDownloads"},
	)
	w.must(hasty.Start())
	defer hasty.Stop()

	sync, err := w.client.ExecuteWorkflow(
		ctx, client.StartWorkflowOptions{ID: w.syncID(), TaskQueue: lifecycle.MainQueue}, lifecycle.DownloadSyncType,
	)

	w.must(err)
	w.eventually("the watcher has begun anew", func() bool {
		watcher := w.history(w.syncID(), sync.GetRunID())
		if watcher[len(watcher)-1].EventType != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			return false
		}
		save("sync", watcher)
		return true
	})
}
