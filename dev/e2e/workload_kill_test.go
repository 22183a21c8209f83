package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// killing is a process that can be killed while everything is in use.
type killing struct {
	name    string
	kill    func(*workloadRig)
	back    func(*workloadRig)
	records bool // requests are recorded without it
	gently  bool // active streams are put back, at no cost
}

// killings are what can be killed while everything is in use.
var killings = []killing{
	{"worker", func(w *workloadRig) { w.worker.kill() }, func(w *workloadRig) { w.startWorker() }, true, false},
	{"stopped worker", func(w *workloadRig) { w.worker.stop() }, func(w *workloadRig) { w.startWorker() }, true, true},
	{"API", func(w *workloadRig) { w.api.kill() }, func(w *workloadRig) { w.startAPI() }, false, false},
	{"Temporal", func(w *workloadRig) { w.temporal.Kill() }, func(w *workloadRig) { must(w, w.temporal.Restart(w.Context())) }, true, false},
	{"PostgreSQL", func(w *workloadRig) { w.postgres.Kill() }, func(w *workloadRig) { must(w, w.postgres.Restart(w.Context())) }, false, false},
}

// outage is how long a killed part stays down.
const outage = 2 * time.Second

// TestWorkloadsKilled kills a worker with -9 while a row of each workload is in progress, and others are requested,
// ended and run out of time. Each row ends well and has its effect once, a repeated request finds the row of the first
// one, and the event stream has each event once. Histories are considered long early.
func TestWorkloadsKilled(t *testing.T) {
	t.Parallel()
	killWorkloads(t, killings[:1])
}

// TestLongWorkloadsKilled kills one process after the other, PostgreSQL and Temporal too.
func TestLongWorkloadsKilled(t *testing.T) {
	night.Only(t)
	t.Parallel()
	killWorkloads(t, killings)
}

func killWorkloads(t *testing.T, killings []killing) {
	t.Helper()
	postgres := testdb.Own(t, servers.PostgresOptions{Fast: true})
	w := newWorkloadRig(t, 512<<10, func(settings map[string]string) *rig {
		temporal := startTemporal(t, "limit.historyCount.suggestContinueAsNew=20")
		// A stopping worker waits half of this for the last bytes of a file, and half for Telegram's answer to them: both are
		// longer than any stream here takes, so that no outcome stays unknown.
		settings["STAGECOACH_WORKER_STOP_TIMEOUT"] = "30s"
		return newRigIn(t, postgres.URL, temporal, client.DefaultNamespace, settings)
	})
	w.postgres = postgres
	w.review()
	w.pausePayments()

	var done []*row
	for _, killing := range killings {
		w.fileSize = 32 << 20 // what is to be ended streams for a minute
		ending := w.rowOfEach((*workloadRig).endableRow)
		w.fileSize = 6 << 20
		meanwhile, hurried := w.unasked(), w.hurried()
		rows := w.rowOfEach((*workloadRig).resting)
		late := w.late(hurried)

		killing.kill(w)
		var asking sync.WaitGroup
		for i := range workloads {
			asking.Go(func() { meanwhile[i].insistOn(killing.records) })
			asking.Go(ending[i].insistOnItsEnd)
		}
		time.Sleep(outage)
		killing.back(w)
		asking.Wait()

		done = append(rows, meanwhile...)
		w.eachOf(t, killing.name, done, func(r *row) {
			r.endsWell()
			if r.workload == deliveryHarness {
				r.wantAttempts(killing.gently && slices.Contains(rows, r))
			}
		})
		w.eachOf(t, killing.name+", ended meanwhile", ending, func(r *row) { r.wantEnded(r.why) })
		late.wantExpired()
		w.pausePayments()
	}

	w.eachOf(t, "reset afterwards", done, func(r *row) {
		r.resetAfterTheEnd()
		r.wantEffects(r.effect)
	})
}

// eachOf runs a part of a test for each of these rows, those of different workloads concurrently.
func (w *workloadRig) eachOf(t *testing.T, what string, rows []*row, check func(*row)) {
	w.each(t, what, func(part *workloadRig, of *workload) {
		for _, r := range rows {
			if r.workload == of {
				r.workloadRig = part
				check(r)
			}
		}
	})
}

// rowOfEach creates a row of each workload. The delivery comes last: it only streams for some seconds, and after its
// last bytes a lost worker leaves its outcome unknown.
func (w *workloadRig) rowOfEach(one func(w *workloadRig, of *workload, by person) *row) []*row {
	w.Helper()
	rows := make([]*row, len(workloads))
	var making sync.WaitGroup
	for i, of := range workloads {
		if of != deliveryHarness {
			making.Go(func() { rows[i] = one(w, of, w.person()) })
		}
	}
	making.Wait()

	at := slices.Index(workloads, deliveryHarness)
	rows[at] = one(w, deliveryHarness, w.person())
	return rows
}

// unasked prepares a row of each workload that is still to be requested.
func (w *workloadRig) unasked() (rows []*row) {
	w.Helper()
	for _, one := range workloads {
		rows = append(rows, &row{workloadRig: w, workload: one, by: w.person(), subject: one.subject(w)})
	}
	return rows
}

// insistOn requests a prepared row until it gets an answer, which is immediate if it can be recorded, and then once
// more.
func (r *row) insistOn(recorded bool) {
	r.Helper()
	if r.ask == nil {
		r.id = r.make(r.workloadRig, r.subject)
		return
	}

	key := nonce()
	ask := func() answer { return r.ask(r.workloadRig, r.by, r.subject, key) }
	if recorded {
		wait.Eventually(r, "the request is recorded", func() bool {
			got := ask()
			if got.body["code"] == string(fault.StoreUnavailable) { // on a busy machine a connection takes its time
				return false
			}
			got.want(r, http.StatusCreated)
			return true
		})
	}
	r.id = r.insist(ask).body[r.idField].(string)
	if again := r.insist(ask); again.body[r.idField] != r.id {
		r.Errorf("the repeated request gives %v, and gave %s", again.body, r.id)
	}
}

// insistOnItsEnd requests the end of a row until it gets an answer.
func (r *row) insistOnItsEnd() {
	r.Helper()
	wait.Eventually(r, "its end is answered", func() bool {
		got := r.end(r.token(), "meanwhile")
		return !r.away(got) && got.status == http.StatusOK
	})
}

// hurried is a person with a workspace whose tasks are late after an outage.
func (w *workloadRig) hurried() person {
	w.Helper()
	p := w.person()
	p.space = p.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": outage.Minutes()}})
	return p
}

// late creates a task whose deadline passes while a server is down.
func (w *workloadRig) late(by person) *row {
	w.Helper()
	r := &row{workloadRig: w, workload: taskHarness, by: by}
	r.id = r.ask(w, r.by, "Be late", "").want(w, http.StatusCreated)["id"].(string)
	return r
}

// wantExpired waits until a late task has expired: once, and not early.
func (r *row) wantExpired() {
	r.Helper()
	r.becomes(string(lifecycle.TaskStuck))
	r.wantEvents(string(lifecycle.TaskStuck))
	if events := r.events(); len(events) != 2 || events[1].CreatedAt.Sub(events[0].CreatedAt) < outage {
		r.Errorf("a deadline of %s: %+v", outage, events)
	}
}

// wantAttempts checks that an interruption of a delivery counts as an attempt if its worker was lost, as a busy machine
// may lose one at any time. A delivery that was handed back gracefully says so first, unless the file was finished
// before.
func (r *row) wantAttempts(gently bool) {
	r.Helper()
	var reasons []string
	for _, e := range r.events() {
		if e.Type == "requeued" {
			reasons = append(reasons, e.Comment)
		}
	}

	lost := 0.0
	for _, reason := range reasons {
		if reason == string(fault.WorkerLost) {
			lost++
		}
	}

	if got := r.shown()["attempt"]; got != lost {
		r.Errorf("%v attempts, put back for %q", got, reasons)
	}
	if gently && len(reasons) > 0 && reasons[0] != "" {
		r.Errorf("a stopping worker put it back for %q", reasons)
	}
}

// endsWell brings a row to its end, and checks that nothing was lost or done twice.
func (r *row) endsWell() {
	r.Helper()
	r.appears()
	if state := r.shown()[r.stateField]; state != r.done && state != r.rests && state != r.line {
		r.settle()
	}
	r.finish(r)
	r.wantEffects(r.effect)
	r.wantEvents(r.done)
	r.wantStreamed()
}
