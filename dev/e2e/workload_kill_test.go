package e2e

import (
	"sync"
	"testing"
	"time"

	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
)

// killings are what can be killed in the middle of everything.
var killings = []struct {
	name string
	kill func(*workloadRig)
	back func(*workloadRig)
}{
	{"worker", func(w *workloadRig) { w.worker.kill() }, func(w *workloadRig) { w.startWorker() }},
	{"API", func(w *workloadRig) { w.api.kill() }, func(w *workloadRig) { w.startAPI() }},
	{"Temporal", func(w *workloadRig) { w.temporal.Kill() }, func(w *workloadRig) { must(w, w.temporal.Restart(w.Context())) }},
	{"PostgreSQL", func(w *workloadRig) { w.postgres.Kill() }, func(w *workloadRig) { must(w, w.postgres.Restart(w.Context())) }},
}

// outage is how long what was killed is away.
const outage = 2 * time.Second

// TestWorkloadsKilled kills one process after the other with -9 while a row of each workload is worked on and others
// are requested. Each row ends well and has its effect once, a repeated request finds the row of the first one, and the
// stream of events has each event once.
func TestWorkloadsKilled(t *testing.T) {
	t.Parallel()
	postgres := testdb.Own(t, servers.PostgresOptions{Fast: true})
	w := newWorkloadRig(t, 512<<10, func(settings map[string]string) *rig { return newRigOn(t, postgres.URL, settings) })
	w.postgres = postgres
	w.pausePayments()

	var ended []*row
	for _, killing := range killings {
		rows, meanwhile := w.restingRows(), w.unasked()
		killing.kill(w)
		var asking sync.WaitGroup
		for _, r := range meanwhile {
			asking.Go(r.insistOn)
		}
		time.Sleep(outage)
		killing.back(w)
		asking.Wait()

		ended = append(rows, meanwhile...)
		w.eachOf(t, killing.name, ended, (*row).endsWell)
		w.pausePayments()
	}

	w.eachOf(t, "reset afterwards", ended, func(r *row) {
		r.resetAfterTheEnd()
		r.wantEffects(r.effect)
	})
}

// eachOf runs a part of a test for each of these rows, those of different workloads at once.
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

// restingRows makes a resting row of each workload.
func (w *workloadRig) restingRows() []*row {
	w.Helper()
	rows := make([]*row, len(workloads))
	var resting sync.WaitGroup
	for i, one := range workloads {
		resting.Go(func() { rows[i] = w.resting(one, w.person()) })
	}
	resting.Wait()
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

// insistOn requests a prepared row until somebody answers, and once more.
func (r *row) insistOn() {
	r.Helper()
	if r.ask == nil {
		r.id = r.make(r.workloadRig, r.subject)
		return
	}

	key := nonce()
	ask := func() answer { return r.ask(r.workloadRig, r.by, r.subject, key) }
	r.id = r.insist(ask).body[r.idField].(string)
	if again := r.insist(ask); again.body[r.idField] != r.id {
		r.Errorf("the repeated request gives %v, and gave %s", again.body, r.id)
	}
}

// endsWell lets a row end, and checks that nothing was lost or done twice.
func (r *row) endsWell() {
	r.Helper()
	r.appears()
	if state := r.shown()[r.stateField]; state != r.done && state != r.rests {
		r.settle()
	}
	r.finish(r)
	r.wantEffects(r.effect)
	r.wantEvents(r.done)
	r.wantStreamed()
}
