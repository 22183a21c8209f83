package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/sim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	workflows "stagecoach/workflows/download"
)

// TestRecordHistories saves the histories that the replay tests replay. It only runs on request. A saved history
// represents workflows in production, and later code must still replay it: save new ones beside the old ones.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_TTL": "2s", "STAGECOACH_DELIVERY_PARALLEL": "2"})
	user := s.user(100)
	small, _ := s.file("small.bin", 1000)
	save := func(name string, job delivery.Job, state lifecycle.DeliveryState) {
		if got := s.ended(job); got.State != state {
			t.Fatalf("%s ended %s\n%s", name, got.State, s.temporalCLI("workflow", "show", "--workflow-id", job.WorkflowID()))
		}
		wait.Eventually(s, "the workflow is over", func() bool {
			return len(s.listed(`WorkflowId="`+job.WorkflowID()+`" AND ExecutionStatus!="Running"`)) == 1
		})
		version.Save(t, historiesOf("delivery"), name, testtemporal.History(t, s.client, job.WorkflowID(), ""))
	}

	late := s.deliver(user, small)
	time.Sleep(3 * time.Second)
	s.startWorker()
	save("expired", late, lifecycle.DeliveryExpired)
	save("delivered", s.deliver(user, small), lifecycle.DeliveryDelivered)

	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "internal_error", Times: 2})
	save("delivered-after-retries", s.deliver(user, small), lifecycle.DeliveryDelivered)
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "blocked", Times: 1})
	save("failed", s.deliver(user, small), lifecycle.DeliveryFailed)
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "504", AfterBody: true, Times: 1})
	save("outcome-unknown", s.deliver(user, small), lifecycle.DeliveryFailed)

	s.slow(4 << 20)
	big, _ := s.file("big.bin", 16<<20)
	save("delivered-slowly", s.deliver(user, big), lifecycle.DeliveryDelivered)
	bigger, _ := s.file("bigger.bin", 32<<20)
	signalled := s.deliver(user, bigger)
	s.inState(signalled, lifecycle.DeliveryStreaming)
	must(t, s.client.SignalWorkflow(t.Context(), signalled.WorkflowID(), "", lifecycle.CancelSignal, nil))
	save("cancelled-by-signal", signalled, lifecycle.DeliveryCancelled)
	updated := s.deliver(user, bigger)
	s.inState(updated, lifecycle.DeliveryStreaming)
	_, err := s.deliveries.Cancel(t.Context(), user, updated.ID, "")
	must(t, err)
	save("cancelled-by-update", updated, lifecycle.DeliveryCancelled)
	stopped := s.deliver(user, bigger)
	s.inState(stopped, lifecycle.DeliveryStreaming)
	s.temporalCLI("workflow", "cancel", "--workflow-id", stopped.WorkflowID())
	save("cancelled-by-operator", stopped, lifecycle.DeliveryCancelled)
}

// TestRecordDownloadHistories saves histories of downloads, with the endings of TestDownloads: without a library
// folder, and of one that is sent from it.
func TestRecordDownloadHistories(t *testing.T) {
	version := testtemporal.Record(t)
	l := newLibraryFrom(t, newStandInWithFiles(t), impatient, func(settings map[string]string) *rig {
		temporal := startTemporal(t, "limit.historyCount.suggestContinueAsNew=40")
		return newRigIn(t, testdb.URL(t), temporal, client.DefaultNamespace, settings)
	})
	l.downloads.Library = true
	l.startWorker()

	saved := map[int64]bool{}
	for _, part := range []struct {
		name string
		runs func(*library)
	}{
		{"completed", fromMagnet},
		{"file-fetched", fromFile},
		{"file-refused", noTorrent},
		{"not-begun", alreadyForeign},
		{"missing", removedByHand},
		{"lost-in-a-restart", torrentLost},
		{"broken-twice", fullDisk},
		{"cancelled", canceled},
		{"cancelled-while-qbittorrent-is-away", canceledWhileAway},
		{"stalled", stallsOften},
		{"next-source", nextSource},
		{"earlier-source", earlierSource},
		{"sent", sentToChat},
	} {
		part.runs(l.in(t))
		made, err := l.store.Downloads.List(t.Context(), download.Filter{Limit: 100})
		must(t, err)
		name := part.name
		for _, job := range made {
			if !saved[job.ID] {
				l.save(version, name, job)
				saved[job.ID], name = true, name+"-too"
			}
		}
	}
	l.saveSync(version)
}

// save saves the first run of a download's workflow, and the last one when it continued as new.
func (l *library) save(version testtemporal.Version, name string, job download.Download) {
	l.Helper()
	last := testtemporal.History(l, l.client, job.WorkflowID(), "")
	run := last[0].GetWorkflowExecutionStartedEventAttributes()
	first := testtemporal.History(l, l.client, job.WorkflowID(), run.FirstExecutionRunId)
	version.Save(l, historiesOf("download"), name, first)
	if run.OriginalExecutionRunId != run.FirstExecutionRunId {
		version.Save(l, historiesOf("download"), name+"-next", last)
	}
}

// canceledWhileAway cancels again and again while qBittorrent is unavailable, until the workflow has continued as new.
func canceledWhileAway(l *library) {
	owner := l.reader()
	job := l.downloading(l.ask(owner, l.unseeded("canceled-while-away.epub").URL))
	l.torrents.kill()
	if _, err := l.askToCancel(owner, job, false); fault.CodeOf(err) != fault.ProviderUnavailable {
		l.Errorf("the first cancel is answered %v", err)
	}
	for range 12 {
		must(l, l.client.SignalWorkflow(l.Context(), job.WorkflowID(), "", lifecycle.CancelSignal, job.ID))
		time.Sleep(pollEvery)
	}
	l.torrents.restart(l)
	l.ends(job, lifecycle.DownloadCanceled, "")
}

// stallsOften makes a download stall and continue again and again, until its workflow has continued as new.
func stallsOften(l *library) {
	made := l.unseeded("stalls-often.epub")
	job := l.downloading(l.ask(l.reader(), made.URL))
	for range 6 {
		for _, c := range [][2]string{{"2 days", "stalled"}, {"0", "recovered"}} {
			l.sql(`UPDATE download_jobs SET progress_at = now() - $1::interval WHERE id = $2`, c[0], job.ID)
			wait.Eventually(l, c[1], func() bool { story := l.story(job); return story[len(story)-1] == c[1] })
		}
	}
	l.torrents.release(l, made)
	l.completes(job)
}

// saveSync saves the run of a watcher whose time is over immediately.
func (l *library) saveSync(version testtemporal.Version) {
	l.Helper()
	l.worker.stop()
	must(l, l.client.TerminateWorkflow(l.Context(), lifecycle.DownloadSyncID, "", "the next one is to be recorded"))
	hasty := worker.New(l.client, lifecycle.MainQueue, worker.Options{})
	hasty.RegisterWorkflowWithOptions(workflows.Sync, workflow.RegisterOptions{Name: lifecycle.DownloadSyncType})
	hasty.RegisterActivityWithOptions(
		func(context.Context) error { return nil }, activity.RegisterOptions{Name: "SyncDownloads"},
	)
	must(l, hasty.Start())
	defer hasty.Stop()

	options := client.StartWorkflowOptions{ID: lifecycle.DownloadSyncID, TaskQueue: lifecycle.MainQueue}
	run, err := l.client.ExecuteWorkflow(l.Context(), options, lifecycle.DownloadSyncType)
	must(l, err)
	wait.Eventually(l, "the watcher has begun anew", func() bool {
		events := testtemporal.History(l, l.client, lifecycle.DownloadSyncID, run.GetRunID())
		if events[len(events)-1].EventType != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			return false
		}
		version.Save(l, historiesOf("download"), "sync", events)
		return true
	})
}

// historiesOf is the folder of the saved histories of a package of workflows.
func historiesOf(workflows string) string {
	return filepath.Join("..", "..", "workflows", workflows, "testdata")
}
