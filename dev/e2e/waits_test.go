package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// waits brings rows of each workload into the states that are cheap to reach, and checks what they wait for there.
var waits = map[string]func(*workloadRig, *workload){
	lifecycle.WorkloadDelivery:    deliveryWaits,
	lifecycle.WorkloadTask:        taskWaits,
	lifecycle.WorkloadDownload:    downloadWaits,
	lifecycle.WorkloadTransaction: transactionWaits,
}

// askWaits compares what the API, the search attribute, the state query and the details say that a row waits for.
func askWaits(w *workloadRig, of *workload) {
	waits[of.name](w, of)
}

func deliveryWaits(w *workloadRig, of *workload) {
	r := w.resting(of, w.person())
	r.startedWaitingFor(lifecycle.WaitsForSlot)
	r.waitsFor(lifecycle.WaitsForTelegram)

	attempt := func(command string) {
		w.Helper()
		var pending []*workflowpb.PendingActivityInfo
		wait.Eventually(r, "an attempt is under way", func() bool { // none is for a moment after one was interrupted
			pending = r.described().GetPendingActivities()
			return len(pending) > 0
		})
		w.temporalCLI("activity", command, "--workflow-id", r.workflowID(), "--activity-id", pending[0].ActivityId)
	}
	attempt("pause")
	r.waitsFor(lifecycle.WaitsForOperator)

	attempt("unpause")
	r.waitsFor(lifecycle.WaitsForTelegram)
	r.end(r.token(), "waits").want(w, http.StatusOK)
	r.waitsFor("")
}

func downloadWaits(w *workloadRig, of *workload) {
	made := w.unseeded("waits-" + nonce() + ".epub")
	r := w.rowOf(of, w.person(), made.Magnet())
	r.startedWaitingFor(lifecycle.WaitsForSlot)
	r.waitsFor(lifecycle.WaitsForMetadata)

	shows := func(state, want string) {
		none := 0.0
		must(w, w.qbittorrent.Change(made.Hash(), torrentsim.TorrentChange{State: &state, Progress: &none}))
		r.waitsFor(want)
	}
	shows("queuedDL", lifecycle.WaitsForSlot)
	shows("", lifecycle.WaitsForQBittorrent)
	shows("pausedDL", lifecycle.WaitsForStart)
	shows("", lifecycle.WaitsForQBittorrent)
	w.sql(`UPDATE download_jobs SET progress_at = now() - interval '2 days' WHERE id = $1`, r.id)
	r.waitsFor(lifecycle.WaitsForPeers)

	r.end(r.token(), "waits").want(w, http.StatusOK)
	r.waitsFor("")
}

// TestLongDownloadWaits brings downloads into states that would affect others on the same qBittorrent.
func TestLongDownloadWaits(t *testing.T) {
	night.Only(t)
	t.Parallel()
	dir, stand := t.TempDir(), newStandIn(t)
	l := newLibrary(t, stand, map[string]string{
		"STAGECOACH_BOT": "false", "STAGECOACH_LIBRARY_DIR": dir, "STAGECOACH_QBITTORRENT_SAVE_PATH": filepath.Join(dir, "downloads"),
		"STAGECOACH_DOWNLOAD_GRACE": "1h",
	})
	l.startWorker()
	l.startAPI()
	rowOf := func(link string) *row {
		job := l.ask(l.reader(), link)
		return &row{
			workloadRig: &workloadRig{restoreRig: &restoreRig{library: l}}, workload: downloadHarness, id: fmt.Sprint(job.ID),
			by: person{member: member{rig: l.rig, token: adminToken}},
		}
	}

	const roomy, tight = int64(100 << 30), int64(1<<30 + 1<<19) // less than a torrent above STAGECOACH_DOWNLOAD_MIN_FREE
	must(t, stand.SetFreeSpace(tight))
	file := rowOf(l.unseeded("no-room.epub").URL)
	file.waitsFor(lifecycle.WaitsForSpace)
	made := l.unseeded("room-later.epub")
	r := rowOf(made.Magnet())
	r.waitsFor(lifecycle.WaitsForMetadata)
	none, whole := 0.0, 1.0
	must(t, stand.Change(made.Hash(), torrentsim.TorrentChange{Progress: &none}))
	r.waitsFor(lifecycle.WaitsForSpace)
	must(t, stand.SetFreeSpace(roomy))
	r.waitsFor(lifecycle.WaitsForQBittorrent)

	must(t, stand.Remove(made.Hash()))
	r.waitsFor(lifecycle.WaitsForTorrent)
	l.addByHand(made, map[string]string{"category": activeCategory})
	r.waitsFor(lifecycle.WaitsForQBittorrent)

	must(t, stand.Change(made.Hash(), torrentsim.TorrentChange{Progress: &whole}))
	r.waitsFor(lifecycle.WaitsForImport)

	stand.kill()
	for _, ending := range []*row{file, r} {
		must(t, l.client.SignalWorkflow(t.Context(), ending.workflowID(), "", lifecycle.CancelSignal, nil))
		ending.waitsFor(lifecycle.WaitsForQBittorrent)
	}
	stand.restart(t)
	for _, ended := range []*row{file, r} {
		ended.waitsFor("")
	}
}

func taskWaits(w *workloadRig, of *workload) {
	ann, bob := w.person(), w.person()
	w.call("PUT", "/v1/workspaces/"+ann.space+"/members/"+bob.id, adminToken, nil).want(w, http.StatusNoContent)
	w.call("POST", "/v1/workspaces/"+ann.space+"/agree", bob.token, nil).want(w, http.StatusNoContent)
	rowOf := func(body map[string]any) *row {
		body["workspace_id"], body["title"] = ann.space, "Planted task"
		made := w.call("POST", of.path, ann.token, body, keyed(nonce())...).want(w, http.StatusCreated)
		return &row{workloadRig: w, workload: of, by: ann, id: made["id"].(string)}
	}
	does := func(r *row, action string, body map[string]any, want string) {
		body["comment"] = because
		by := ann
		if action == "approve" || action == "reject" {
			by, body["submission"] = bob, r.shown()["submission"]
		}
		w.call("POST", r.at()+"/"+action, by.token, body).want(w, http.StatusOK)
		r.waitsFor(want)
	}
	status := func(r *row, to lifecycle.TaskState, want string) { does(r, "status", map[string]any{"to": to}, want) }

	rowOf(map[string]any{"assignee_id": ann.id}).beginsWaitingFor(lifecycle.WaitsForAssignee)
	first := rowOf(map[string]any{})
	first.beginsWaitingFor(lifecycle.WaitsForClaim)
	second := rowOf(map[string]any{"blocked_by": []string{first.id}})
	second.beginsWaitingFor(lifecycle.WaitsForBlockers)

	does(first, "claim", map[string]any{}, lifecycle.WaitsForAssignee)
	status(first, lifecycle.TaskBlocked, lifecycle.WaitsForAssignee)
	status(first, lifecycle.TaskInProgress, lifecycle.WaitsForAssignee)
	status(first, lifecycle.TaskDone, "")
	second.waitsFor(lifecycle.WaitsForClaim)

	review := func(required bool, want string) {
		w.call("PATCH", "/v1/workspaces/"+ann.space, ann.token, map[string]any{"review_required": required}).want(w, http.StatusOK)
		second.waitsFor(want)
	}
	does(second, "claim", map[string]any{}, lifecycle.WaitsForAssignee)
	does(second, "submit", map[string]any{"result": 1}, lifecycle.WaitsForAssignee)
	review(true, lifecycle.WaitsForReview)
	does(second, "reject", map[string]any{}, lifecycle.WaitsForAssignee)
	does(second, "submit", map[string]any{"result": 2}, lifecycle.WaitsForReview)
	review(false, lifecycle.WaitsForAssignee)
	review(true, lifecycle.WaitsForReview)
	does(second, "approve", map[string]any{}, lifecycle.WaitsForAssignee)

	w.call("PATCH", "/v1/workspaces/"+ann.space, ann.token, map[string]any{"status_deadlines": map[string]any{"NEW": 0.02}}).want(w, http.StatusOK)
	free, held := rowOf(map[string]any{}), rowOf(map[string]any{"blocked_by": []string{second.id}})
	free.becomes(string(lifecycle.TaskStuck))
	free.waitsFor(lifecycle.WaitsForTakeover)
	held.becomes(string(lifecycle.TaskStuck))
	held.waitsFor(lifecycle.WaitsForBlockers)
	status(second, lifecycle.TaskDone, "")
	held.waitsFor(lifecycle.WaitsForTakeover)
	status(held, lifecycle.TaskCancelled, "")
}

// transactionWaits rests in the pause of all payments.
func transactionWaits(w *workloadRig, of *workload) {
	by := w.person()
	w.resting(of, by).beginsWaitingFor(lifecycle.WaitsForPurchase)

	r := w.endableRow(of, by)
	r.waitsFor(lifecycle.WaitsForOperator)
	r.end(r.token(), "waits").want(w, http.StatusOK)
	r.waitsFor("")
}

// beginsWaitingFor checks what a new row waits for, including what its workflow was started with.
func (r *row) beginsWaitingFor(want string) {
	r.Helper()
	r.waitsFor(want)
	r.startedWaitingFor(want)
}

// startedWaitingFor checks what a workflow was started with.
func (r *row) startedWaitingFor(want string) {
	r.Helper()
	start := testtemporal.History(r, r.client, r.workflowID(), "")[0].GetWorkflowExecutionStartedEventAttributes()
	if got := keywordIn(r, start.SearchAttributes); got != want {
		r.Errorf("%s %s starts with WaitsFor %q, want %q", r.name, r.id, got, want)
	}
}

var waitsParagraph = regexp.MustCompile("Waits for `(.+?)`: .+\\.")

// waitsFor waits until the API, the search attribute, the state query and the details agree on what a row waits for.
func (r *row) waitsFor(want string) {
	r.Helper()
	var got [4]string
	all := [4]string{want, want, want, want}
	defer func() {
		if got != all {
			r.Logf("%s %s waits for %q (API, attribute, query, details)", r.name, r.id, got)
		}
	}()
	wait.Eventually(r, fmt.Sprintf("%s %s waits for %q", r.name, r.id, want), func() bool {
		got = r.waits()
		return got == all
	})
}

// waits returns what a row waits for according to the four; empty: nothing.
func (r *row) waits() (got [4]string) {
	r.Helper()
	got[0], _ = r.shown()["waits_for"].(string)
	got[1] = keywordIn(r, r.described().GetWorkflowExecutionInfo().GetSearchAttributes()) // the monitor starts it once the row exists

	var view lifecycle.StateView
	if answer, err := r.client.QueryWorkflow(r.Context(), r.workflowID(), "", lifecycle.StateQuery); err == nil {
		must(r, answer.Get(&view))
	}
	got[2] = view.WaitsFor

	var metadata sdkpb.WorkflowMetadata
	if answer, err := r.client.QueryWorkflow(r.Context(), r.workflowID(), "", "__temporal_workflow_metadata"); err == nil {
		must(r, answer.Get(&metadata))
	}
	if match := waitsParagraph.FindStringSubmatch(metadata.CurrentDetails); match != nil {
		got[3] = match[1]
	}
	return got
}

// keywordIn reads WaitsFor from search attributes; empty if they have none.
func keywordIn(t testing.TB, attributes *commonpb.SearchAttributes) (value string) {
	if payload := attributes.GetIndexedFields()[temporalio.WaitsForAttribute.GetName()]; payload != nil {
		must(t, converter.GetDefaultDataConverter().FromPayload(payload, &value))
	}
	return value
}
