package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestLongCancelBeforeBegun cancels a workflow of each workload before any worker has run it. Its row ends as after a
// later cancellation, and no request reaches the external systems.
func TestLongCancelBeforeBegun(t *testing.T) {
	night.Only(t)
	t.Parallel()
	v := newRestoreRig(t, testdb.URL(t))
	v.startAPI()
	v.ann = v.member("Ann")
	file, _ := v.file("file.bin", 3000)
	job := v.deliver(v.user(500), file)
	task := v.ann.batch(v.ann.workspace(map[string]any{}), map[string]any{"ref": "one", "title": "Never begun"})["one"]
	torrent := v.torrent("never.epub", torrentsim.TorrentSpec{})
	load := v.ask(v.library.reader(), torrent.URL)
	order := v.orderOfOld()
	ask := func() answer { // by a person, with an update
		path := "/v1/deliveries/" + fmt.Sprint(job.ID) + "/cancel"
		return v.call("POST", path, adminToken, nil, "Idempotency-Key", "unheard")
	}
	ask().refused(t, http.StatusServiceUnavailable, string(fault.TemporalUnavailable))

	for _, id := range []string{job.WorkflowID(), "task/" + task, load.WorkflowID(), lifecycle.TransactionID(order)} {
		v.temporalCLI("workflow", "cancel", "--workflow-id", id)
	}

	v.startWorker()
	v.wantState(v.ended(job), lifecycle.DeliveryCancelled, string(fault.CancelledByUser))
	if again := ask(); again.status != http.StatusOK { // otherwise it was never accepted
		again.refused(t, http.StatusConflict, string(fault.InvalidTransition))
	}
	wait.Eventually(v, "the task ends", func() bool { return v.ann.task(task)["status"] == "CANCELLED" })
	if load = v.over(load); load.State != lifecycle.DownloadCanceled {
		t.Errorf("the download is %s", load.State)
	}

	v.orderIs(order, "is cancelled", func(o map[string]any) bool {
		return o["status"] == "failed" && o["error_message"] == "Cancelled by operator"
	})
	wait.Eventually(
		v, "all four workflows end",
		func() bool { return len(v.listed(`ExecutionStatus="Running" AND Stage IS NOT NULL`)) == 0 },
	)
	if got := v.documents(500); len(got) > 0 {
		t.Errorf("sent: %+v", got)
	}
	if v.find(torrent) != nil {
		t.Error("qBittorrent has the torrent")
	}
	if sold := v.bought(); len(sold) > 0 {
		t.Errorf("bought for %v", sold)
	}
	if found := v.call("GET", "/v1/findings", adminToken, nil).body["items"].([]any); len(found) > 0 {
		t.Errorf("the reconciler had to help: %v", found)
	}
}

// orderOfOld creates an order to a wallet that is not the worker's, so that its workflow can be started while no worker
// runs.
func (v *restoreRig) orderOfOld() string {
	v.Helper()
	wallet, hash := "0:"+digest("an old wallet"), digest("an old order")
	_, err := v.store.Transactions.OpenWallet(v.Context(), wallet, transaction.WalletStart{})
	must(v, err)
	_, err = v.store.Transactions.IngestChain(v.Context(), wallet, []transaction.ChainTransaction{{
		ComputeOK: true, ActionOK: true, Deposit: true, Comment: "durov 50", Username: "durov", Stars: 50, LT: 10, Hash: hash, At: time.Now(),
		In: transaction.InMessage{Hash: digest("in"), Source: "0:" + digest("sender"), Nano: 1_000_000_000},
	}}, time.Now())

	must(v, err)
	must(v, v.orders.Start(v.Context(), hash))
	return hash
}
