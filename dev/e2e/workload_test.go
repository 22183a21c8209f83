package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"golang.org/x/sync/errgroup"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
)

// TestWorkloads asks the same questions of every workload, all on one Stagecoach.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	w := askWorkloads(t, map[string]func(*workloadRig, *workload){
		"repeated":             askRepeated,
		"race":                 askRace,
		"ended by its owner":   askEndedByOwner,
		"ended by others":      askEndedByOthers,
		"cancelled by the CLI": askCancelledByCLI,
		"updated by the CLI":   askUpdatedByCLI,
		"terminated":           askTerminated,
		"reset":                askReset,
		"paused":               askPaused,
		"listed":               askListed,
		"not there, not yours": askHidden,
		"followed":             askFollowed,
		"waits":                askWaits,
	})
	w.each(t, "streamed", askStreamed)
	w.wantUntold()
}

// TestLongWorkloads resets every workload before each kind of event: what was decided stays as it is.
func TestLongWorkloads(t *testing.T) {
	night.Only(t)
	t.Parallel()
	askWorkloads(t, map[string]func(*workloadRig, *workload){"decided": askDecided}).wantUntold()
}

func askWorkloads(t *testing.T, questions map[string]func(*workloadRig, *workload)) *workloadRig {
	t.Helper()
	w := newWorkloadRig(t, 4<<10, func(settings map[string]string) *rig {
		// So slow a stream looks as if it stood still: the kernel tells of free room in steps of many kilobytes.
		settings["STAGECOACH_DELIVERY_CHUNK_TIMEOUT"] = "1h"
		settings["STAGECOACH_DELIVERY_JOB_TIMEOUT"] = "1h"
		settings["STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT"] = "1m" // no worker is lost here
		return newRig(t, settings)
	})
	w.review()
	w.pausePayments()

	var running errgroup.Group
	running.SetLimit(3) // more concurrent ones keep Temporal too busy to answer an operator
	for name, question := range questions {
		running.Go(func() error {
			w.each(t, name, question)
			return nil
		})
	}
	_ = running.Wait()
	return w
}

// askRepeated repeats a request with its key, without one, with another's key, and a key with another request.
func askRepeated(w *workloadRig, of *workload) {
	if of.ask == nil {
		w.Skip("no request makes it")
	}
	ann, bob := w.person(), w.person()
	subject, key := of.subject(w), longest("key")
	first := of.ask(w, ann, subject, key).want(w, http.StatusCreated)
	again := of.ask(w, ann, subject, key).is(w, of.repeated)
	if first[of.idField] != again[of.idField] {
		w.Errorf("one key made %v and %v", first[of.idField], again[of.idField])
	}

	if other := of.ask(w, ann, subject, "").is(w, of.unkeyed); of.unkeyed.status == http.StatusCreated && other[of.idField] == first[of.idField] {
		w.Errorf("without its key the request gives %v again", other[of.idField])
	}
	if others := of.ask(w, bob, subject, key).want(w, http.StatusCreated); others[of.idField] == first[of.idField] {
		w.Errorf("the key of somebody else gives %v", others[of.idField])
	}

	r := &row{workloadRig: w, workload: of, by: ann, subject: subject, id: first[of.idField].(string)}
	r.settle()
	r.end(ann.token, "end").want(w, http.StatusOK)
	r.becomes(of.ended)
	if again = of.ask(w, ann, subject, key).is(w, of.repeated); again[of.idField] != r.id {
		w.Errorf("after the end of %s its key gives %v", r.id, again[of.idField])
	}
	switch got := of.ask(w, ann, of.subject(w), key); of.name {
	case lifecycle.WorkloadDelivery: // its key consists of user, file and nonce
		got.want(w, http.StatusCreated)
	default:
		got.refused(w, http.StatusUnprocessableEntity, string(fault.Validation))
	}
}

// askRace sends a request with one key many times concurrently, and then many requests to end the row.
func askRace(w *workloadRig, of *workload) {
	by := w.person()
	r := w.raced(of, by)
	if of.ask != nil {
		r.settle()
	}
	if got := of.effects(r); got > 1 {
		w.Errorf("one row has %d effects outside", got)
	}
	var all sync.WaitGroup
	answers := make([]answer, 8)
	for i := range answers {
		all.Go(func() { answers[i] = r.end(r.token(), fmt.Sprint("race-", i)) })
	}
	all.Wait()

	for _, got := range answers {
		if got.status != http.StatusOK {
			got.refused(w, http.StatusConflict, string(fault.InvalidTransition))
		}
	}
	r.wantEnded(of.why)
}

// raced creates a row with concurrent requests of one key; if no request creates rows, it creates one.
func (w *workloadRig) raced(of *workload, by person) *row {
	w.Helper()
	if of.ask == nil {
		return w.endableRow(of, by)
	}

	subject, made := of.subject(w), 0
	r := &row{workloadRig: w, workload: of, by: by, subject: subject}
	answers := make([]answer, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = of.ask(w, by, subject, "race") })
	}
	all.Wait()

	for _, got := range answers {
		id, _ := got.body[of.idField].(string)
		if id == "" || r.id != "" && id != r.id {
			w.Fatalf("answered %d %v beside %s", got.status, got.body, r.id)
		}
		if r.id = id; got.status == http.StatusCreated {
			made++
		}
	}
	if made != 1 && of.repeated.status != http.StatusCreated {
		w.Errorf("%d requests have made it", made)
	}
	return r
}

// askEndedByOwner ends a row as its owner, twice with one key.
func askEndedByOwner(w *workloadRig, of *workload) {
	r := w.endableRow(of, w.person())
	first := r.end(r.token(), "end").want(w, http.StatusOK)
	r.wantEnded(of.why)
	if got := w.walk(of, "&"+of.stateField+"="+of.ended, r.token()); !slices.Contains(got, r.id) || of.ownerIs != ofAdmins && len(got) > 1 {
		w.Errorf("of the state %s there are %v", of.ended, got)
	}

	if again := r.end(r.token(), "end").want(w, http.StatusOK); again[of.stateField] != first[of.stateField] { // kept
		w.Errorf("the repeated request answers %v, not %v", again, first)
	}
	r.end(r.token(), "another").refused(w, http.StatusConflict, string(fault.InvalidTransition))
	r.wantEvents(of.ended)
}

// askEndedByOthers ends a row as an administrator, after a stranger has tried.
func askEndedByOthers(w *workloadRig, of *workload) {
	r, stranger := w.endableRow(of, w.person()), w.person()
	r.end(stranger.token, "end").is(w, of.hidden)
	if of.ownerIs == ofPerson {
		r.end(adminToken, "end").refused(w, http.StatusForbidden, string(fault.InsufficientAccess))
		r.becomes(of.rests)
		return
	}

	r.end(adminToken, "end").want(w, http.StatusOK)
	r.wantEnded(of.why)
	if !slices.Contains(w.audited("", "done"), r.auditSubject()) {
		w.Errorf("the end of %s is not in the audit log", r.auditSubject())
	}
}

// auditSubject is how the audit log names a row.
func (r *row) auditSubject() string { return r.name + "/" + r.id }

// askCancelledByCLI reads and cancels a row's workflow with the temporal CLI.
func askCancelledByCLI(w *workloadRig, of *workload) {
	r := w.resting(of, w.person())
	for _, command := range []string{"query --type state", "describe", "metadata"} {
		words := strings.Fields("workflow " + command + " --workflow-id " + r.workflowID())
		wait.Eventually(r, command+" shows its state", func() bool {
			return strings.Contains(w.temporalCLI(words...), r.shown()[r.stateField].(string))
		})
	}

	w.temporalCLI("workflow", "cancel", "--workflow-id", r.workflowID())
	r.wantEnded(of.whyCLI)
	wait.Eventually(r, "operators find it by its end", func() bool {
		return slices.Contains(w.listed(`ExecutionStatus!="Running" AND Stage="`+of.ended+`"`), r.workflowID())
	})
}

// askUpdatedByCLI ends a row as a person, and as an operator, with the temporal CLI. A reset does not do it again.
func askUpdatedByCLI(w *workloadRig, of *workload) {
	if of.update == "" {
		w.Skip("its update takes what the API has kept")
	}
	for _, input := range [][]string{{"--input", `{"actor": %s}`}, nil} {
		r := w.endableRow(of, w.person())
		words := []string{"workflow", "update", "execute", "--workflow-id", r.workflowID(), "--name", of.update}
		for _, word := range input {
			words = append(words, strings.ReplaceAll(word, "%s", r.by.id))
		}
		if got := w.temporalCLI(words...); !strings.Contains(got, of.ended) {
			w.Errorf("answered %s", got)
		}
		r.wantEnded(of.why)
		r.resetAfterTheEnd()
	}
}

// askTerminated terminates a row's workflow: the row ends, and the incident is listed.
func askTerminated(w *workloadRig, of *workload) {
	r := w.resting(of, w.person())
	w.temporalCLI("workflow", "terminate", "--workflow-id", r.workflowID(), "--reason", "test")
	r.becomes(of.lost)
	r.wantEvents(of.lost)
	r.wantReason(string(fault.TerminatedByOperator))
	r.wantEffects(of.leaves)
	r.finding(operations.FindingTerminated, operations.DoneEnded)
	if events := r.events(); events[len(events)-1].ActorID != nil {
		w.Errorf("somebody has done it: %+v", events)
	}
	r.end(r.token(), "end").refused(w, http.StatusConflict, string(fault.InvalidTransition))
}

// askReset resets a row's workflow to its beginning, while it rests and after its end, which stays.
func askReset(w *workloadRig, of *workload) {
	r := w.endableRow(of, w.person())
	r.reset()
	wait.Eventually(r, "the new run shows the state", func() bool {
		return slices.Contains(w.listed(`ExecutionStatus="Running" AND Stage="`+of.rests+`"`), r.workflowID())
	})
	r.becomes(of.rests)
	r.end(r.token(), "end").want(w, http.StatusOK)
	r.wantEnded(of.why)

	r.resetAfterTheEnd()
	r.wantEffects(0)
}

// askDecided resets a row's workflow to each kind of event, while it rests and after its end, when the answers to its
// requests are long gone: none of them is decided anew.
func askDecided(w *workloadRig, of *workload) {
	r := w.endableRow(of, w.person())
	if of.requests != nil {
		of.requests(r)
	}
	r.resetToEach("rests", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)

	r.end(r.token(), "end").want(w, http.StatusOK)
	r.becomes(of.ended)
	over := func() bool { return r.status() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }
	wait.Eventually(r, "its workflow ends", over)
	r.resetToEach("has ended", r.status())
	r.wantEffects(0)
}

// resetToEach resets the current run of a row's workflow before the first event of each kind that it has. Each time the
// new run ends up in a status, and what people have decided stays: of an ended row everything does.
func (r *row) resetToEach(when string, status enumspb.WorkflowExecutionStatus) {
	r.Helper()
	r.sql(`DELETE FROM answers WHERE user_id = $1 OR key LIKE '%-' || $2 || '~%'`, r.by.id, r.id)
	row, events := r.shown(), r.decisions()
	runID := r.described().GetWorkflowExecutionInfo().GetExecution().GetRunId()

	reset, last := map[enumspb.EventType]bool{}, int64(0)
	history := r.client.GetWorkflowHistory(r.Context(), r.workflowID(), runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		must(r, err)
		kind := event.GetEventType()
		if kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			last = event.GetEventId()
			continue
		}
		if last == 0 || reset[kind] {
			continue
		}

		reset[kind] = true
		r.temporalCLI("workflow", "reset", "--workflow-id", r.workflowID(), "--run-id", runID, "--event-id", fmt.Sprint(last), "--reason", "test")
		wait.Eventually(r, "the run after a reset before "+kind.String()+" is as the one before", func() bool {
			return r.status() == status && (status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || r.shows(row[r.stateField].(string)))
		})
		ended := status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		if now := r.shown(); ended && !reflect.DeepEqual(now, row) || !reflect.DeepEqual(r.decisions(), events) { // one that goes on moves
			r.Fatalf("it %s; after a reset before %s it is %v with %v, and was %v with %v", when, kind, now, r.decisions(), row, events)
		}
	}
}

// decisions are the events of a row that people have caused.
func (r *row) decisions() (by []lifecycle.Event) {
	r.Helper()
	for _, event := range r.events() {
		if event.ActorID != nil {
			by = append(by, event)
		}
	}
	return by
}

// shows reports whether a row's workflow answers its query with a state.
func (r *row) shows(state string) bool {
	return strings.Contains(r.temporalCLI("workflow", "query", "--type", "state", "--workflow-id", r.workflowID()), `"`+state+`"`)
}

// resetAfterTheEnd resets the workflow of an ended row, which stays as it is.
func (r *row) resetAfterTheEnd() {
	r.Helper()
	over := func() bool { return r.status() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }
	wait.Eventually(r, "its workflow ends", over)
	row, events := r.shown(), r.events()
	r.reset()
	wait.Eventually(r, "the new run ends", over)
	if now := r.shown(); !reflect.DeepEqual(now, row) || !reflect.DeepEqual(r.events(), events) {
		r.Errorf("after the reset it is %v, and was %v", now, row)
	}
}

// askPaused requests the end of a row whose workflow is paused: that is refused until it is resumed.
func askPaused(w *workloadRig, of *workload) {
	r := w.endableRow(of, w.person())
	r.pause()
	got := r.end(r.token(), "paused")
	got.refused(w, http.StatusConflict, string(fault.WorkflowPaused))
	r.becomes(of.rests)

	r.unpause()
	wait.Eventually(r, "the update is taken", func() bool {
		got = r.end(r.token(), "paused")
		return got.status != http.StatusConflict
	})
	got.want(w, http.StatusOK)
	r.wantEnded(of.why)
}

// askListed pages through rows: newest first, none twice, no stranger's.
func askListed(w *workloadRig, of *workload) {
	by, stranger := w.person(), w.person()
	var made []string
	for range 3 {
		r := w.row(of, by)
		r.appears()
		made = append(made, r.id)
	}
	slices.Reverse(made)

	reader := by.token
	if of.ownerIs == ofAdmins {
		reader = adminToken
		w.call("GET", of.path, stranger.token, nil).is(w, of.hidden)
	} else if got := w.walk(of, "", stranger.token); len(got) > 0 {
		w.Errorf("a stranger sees %v", got)
	}

	all := w.walk(of, "", reader)
	mine := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !slices.Contains(made, id) })
	if !slices.Equal(mine, made) {
		w.Errorf("listed %v, made %v", mine, made)
	}
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		w.Errorf("listed twice: %v", all)
	}

	path := of.path + "?" + of.stateField + "="
	if got := w.call("GET", path+of.done, reader, nil).want(w, http.StatusOK)["items"].([]any); len(got) > 0 {
		w.Errorf("none is %s: %v", of.done, got)
	}
	for _, query := range []string{path + "nonsense", of.path + "?cursor=nonsense", of.path + "?limit=201"} {
		w.call("GET", query, reader, nil).refused(w, http.StatusUnprocessableEntity, string(fault.Validation))
	}
}

// walk reads a list, or the part of it that a query selects, to its end, two rows per page.
func (w *workloadRig) walk(of *workload, query, token string) (ids []string) {
	w.Helper()
	for cursor := ""; ; {
		page := w.call("GET", of.path+"?limit=2"+query+cursor, token, nil).want(w, http.StatusOK)
		for _, item := range page["items"].([]any) {
			ids = append(ids, item.(map[string]any)[of.idField].(string))
		}
		next, _ := page["next_cursor"].(string)
		if _, there := page["next_cursor"]; !there {
			w.Error("the page has no next_cursor")
		}
		if next == "" {
			return ids
		}
		cursor = "&cursor=" + next
	}
}

// noIDs are texts that are not valid ids.
var noIDs = []string{
	"999999999999", "abc", "0", "-1", "01", "+1", "1.0", "99999999999999999999", "%00", "%ff", "a%2Fb", digest("absent"),
}

// askHidden reads and changes what does not exist, and what belongs to somebody else: both look the same. Attempts at
// what belongs to others are audited.
func askHidden(w *workloadRig, of *workload) {
	r, stranger := w.endableRow(of, w.person()), w.person()
	for _, id := range noIDs {
		absent := *r
		absent.id = id
		absent.triedBy(stranger.token, of.hidden)
		absent.triedBy(adminToken, answerKind{http.StatusNotFound, of.notFound})
	}
	r.triedBy(stranger.token, of.hidden)
	r.call("GET", r.at(), "no token", nil).refused(w, http.StatusUnauthorized, string(fault.Unauthenticated))

	r.get(adminToken).want(w, http.StatusOK)
	r.becomes(of.rests)
	if of.ownerIs != ofAdmins { // there each attempt of a stranger is audited, whatever the id
		if got := w.audited(stranger.id, "refused"); !slices.Equal(got, []string{r.auditSubject(), r.auditSubject(), r.auditSubject()}) {
			w.Errorf("audited: %v", got)
		}
	}
}

// triedBy reads a row and its events and requests its end, which is refused.
func (r *row) triedBy(token string, kind answerKind) {
	r.Helper()
	r.get(token).is(r, kind)
	r.end(token, "end").is(r, kind)
	if r.ownerIs != ofAdmins {
		r.call("GET", r.at()+"/events", token, nil).is(r, kind)
	}
}

// audited lists the subjects of what somebody has done, or was refused; without an actor: anybody.
func (w *workloadRig) audited(actor, outcome string) (subjects []string) {
	w.Helper()
	for cursor := ""; ; {
		page := w.call("GET", "/v1/audit?limit=200"+cursor, adminToken, nil).want(w, http.StatusOK)
		for _, item := range page["items"].([]any) {
			if entry := item.(map[string]any); (actor == "" || entry["actor_id"] == actor) && entry["outcome"] == outcome {
				subjects = append(subjects, entry["subject"].(string))
			}
		}
		next, _ := page["next_cursor"].(string)
		if next == "" {
			return subjects
		}
		cursor = "&cursor=" + next
	}
}

// askFollowed follows the events as the owner of a row: there is nothing about others.
func askFollowed(w *workloadRig, of *workload) {
	if of.ownerIs == ofAdmins {
		w.Skip("it has no owner")
	}
	r := w.endableRow(of, w.person())
	stream := w.follow(r.by.token, "0-0")
	r.end(r.by.token, "end").want(w, http.StatusOK)
	r.wantEnded(of.why)
	want := r.events()
	wait.Eventually(w, "the owner has the events", func() bool { return len(stream.of("", "")) >= len(want) })

	got := stream.of("", "")
	for i, e := range got {
		if e.Workload != of.name || e.EntityID != r.id || e.OwnerID == nil || *e.OwnerID != r.by.id || !reflect.DeepEqual(e.History, want[i].History) {
			w.Errorf("%+v, want %+v", e, want[i])
		}
	}
}

// askStreamed compares the event stream with each row's own history.
func askStreamed(w *workloadRig, of *workload) {
	ids := w.walk(of, "", adminToken)
	if len(ids) < 8 {
		w.Fatalf("the questions have left %d rows", len(ids))
	}
	for _, id := range ids {
		(&row{workloadRig: w, workload: of, id: id, by: person{member: member{token: adminToken}}}).wantStreamed()
	}
}

// wantStreamed checks that the stream has had each event of a row once, in order.
func (r *row) wantStreamed() {
	r.Helper()
	var want, got []int64
	wait.Eventually(r, "the stream has the events", func() bool {
		want, got = want[:0], got[:0]
		for _, e := range r.events() {
			want = append(want, e.Seq)
		}
		for _, e := range r.stream.of(r.name, r.id) {
			got = append(got, e.Seq)
		}
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		r.Errorf("%s %s: the stream had the events %v, the row has %v", r.name, r.id, got, want)
	}
}
