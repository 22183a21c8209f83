package download_test

import (
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// TestRecordHistoriesOfWaits saves histories of jobs that wait for qBittorrent and are sent many signals meanwhile.
func TestRecordHistoriesOfWaits(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=40")
	w := newRigOn(
		t, server, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, 2*time.Second,
	)

	ctx := t.Context()
	cancel := func(job download.Download, times int) {
		for range times {
			w.must(w.client.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, job.ID))
			time.Sleep(150 * time.Millisecond)
		}
	}

	save := func(name string, job download.Download, first string) {
		w.closed(job)
		version.Save(t, "", name, w.history(job.WorkflowID(), first))
		if last := w.history(job.WorkflowID(), "")[0].GetWorkflowExecutionStartedEventAttributes().OriginalExecutionRunId; last != first {
			version.Save(t, "", name+"-next", w.history(job.WorkflowID(), last))
		}
	}

	run := func(job download.Download) string {
		return w.history(job.WorkflowID(), "")[0].GetWorkflowExecutionStartedEventAttributes().OriginalExecutionRunId
	}

	job := w.becomes(w.start(magnet(1)), lifecycle.DownloadDownloading)
	first := run(job)
	w.qb.AddFault(sim.Fault{Match: "delete", Kind: "500"})
	cancel(job, 12)
	w.qb.ClearFaults()
	save("cancelled-while-qbittorrent-is-away", job, first)
}
