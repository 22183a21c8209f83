package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// workload is what the suite needs to know about one workload. A row rests in a live state until it is finished or
// somebody ends it.
type workload struct {
	name       string
	path       string // of its rows in the API
	stateField string
	idField    string
	notFound   fault.Code
	// ask requests a row for a person with a key; an empty key: without one. nil: rows are created without a request.
	ask func(w *workloadRig, by person, subject, key string) answer
	// subject prepares what a row is requested for.
	subject func(w *workloadRig) string
	// make creates a row without a request, if ask is nil.
	make func(w *workloadRig, subject string) (id string)
	// rest brings a new row to the state in which it rests; nil: nothing to do.
	rest  func(r *row)
	rests string
	line  string // the state of a queued row, which cannot be ended there; empty: there is no queue
	// requests makes some requests that others undo, and one that is refused and would be granted at the end; the row
	// rests again. nil: a resting row accepts none.
	requests func(r *row)
	finish   func(r *row) // lets a resting row end well
	done     string
	// effects counts a row's external effects: new documents, torrents, purchases. It is 0 for a row that somebody has
	// ended, and effect for one that is done.
	effects func(r *row) int
	effect  int
	leaves  int // effects of a row whose workflow was terminated

	// askEnd is the request with which a person ends a row.
	askEnd func(r *row, token, key string) answer
	// endable returns a row that a person may end; nil: each may be ended.
	endable func(w *workloadRig, by person) *row
	ended   string // the state of a row that somebody has ended
	why     string // … and its comment
	whyCLI  string // … if an operator has canceled its workflow
	lost    string // the state of a row whose workflow was terminated
	update  string // with which an operator ends a row; empty: there is none

	repeated answerKind // of a repeated request for a row
	unkeyed  answerKind // of a request without a key after one with a key
	hidden   answerKind // for strangers
	ownerIs  ownerKind
}

// answerKind is how an API responds.
type answerKind struct {
	status int
	code   fault.Code
}

// ownerKind says who owns the rows.
type ownerKind string

const (
	ofPerson        ownerKind = "person"         // only the creator ends a row
	ofPersonOrAdmin ownerKind = "person, admin"  // an administrator may, too
	ofAdmins        ownerKind = "administrators" // rows belong to nobody
)

// workloadRig is one Stagecoach with all four workloads, whose deliveries, downloads and transactions rest.
type workloadRig struct {
	*restoreRig
	fileSize int
	chats    *atomic.Int64
	stream   *eventStream
	reviewed chan *row         // transactions whose deposit is in review
	postgres *servers.Postgres // nil: other tests use it, too
}

// newWorkloadRig starts a Stagecoach whose files stream at this speed, on the rig that start makes.
func newWorkloadRig(
	t *testing.T, bytesPerSecond int64, start func(settings map[string]string) *rig,
) *workloadRig {
	t.Helper()
	stand := newStandIn(t)
	v := &restoreRig{qbittorrent: stand}
	v.library = newLibraryFrom(t, stand, map[string]string{
		"STAGECOACH_BOT": "false", "STAGECOACH_DELIVERY_PARALLEL": "50",
		"STAGECOACH_LIMIT_REQUESTS": "100000",
	}, start)
	v.startShop(tonsim.TonCenterOptions{Balance: -1})
	v.chain, v.fragment = v.ground.Chain, v.ground.Fragment
	v.slow(bytesPerSecond)
	v.startWorker()
	v.startAPI()

	w := &workloadRig{restoreRig: v, fileSize: 2 << 20, chats: &atomic.Int64{}, reviewed: make(chan *row, reviews)}
	w.chats.Store(1000)
	w.stream = w.follow(adminToken, "")
	return w
}

// reviews is how many transactions in review the suite needs.
const reviews = 8

// review creates the transactions whose deposit is in review: a pause would prevent that.
func (w *workloadRig) review() {
	w.Helper()
	for range reviews {
		r := &row{workloadRig: w, workload: transactionHarness, subject: "planted_" + nonce()}
		r.id = w.deposit(r.subject, 60e9) // above STAGECOACH_TX_REVIEW_FROM
		w.reviewed <- r
	}
	for range reviews {
		r := <-w.reviewed
		w.orderIs(r.id, "needs a review", func(o map[string]any) bool { return o["needs_review"] == true })
		w.reviewed <- r
	}
}

// deposit pays for Stars of a buyer.
func (w *workloadRig) deposit(buyer string, nano int64) (hash string) {
	w.Helper()
	hash, err := w.chain.Deposit(tonsim.Deposit{AmountNano: nano, Comment: buyer + " 50"})
	must(w, err)
	return hash
}

// part passes the rig to a part of its test.
func (w *workloadRig) part(t testing.TB) *workloadRig {
	part, restore := *w, *w.restoreRig
	restore.library = w.library.in(t)
	part.restoreRig = &restore
	return &part
}

// each runs a part of a test for each workload, all concurrently.
func (w *workloadRig) each(t *testing.T, what string, part func(*workloadRig, *workload)) {
	var running sync.WaitGroup
	for _, one := range workloads {
		running.Go(func() {
			t.Run(what+"/"+one.name, func(t *testing.T) { part(w.part(t), one) })
		})
	}
	running.Wait()
}

func (w *workloadRig) pausePayments() {
	w.Helper()
	w.insist(func() answer { // the worker announces the wallet
		return w.call("POST", "/v1/payments/pause", adminToken, map[string]any{"reason": "orders rest"})
	})
}

// person is a user with a chat and a workspace.
type person struct {
	member
	chat  int64
	space string
}

// person makes a user.
func (w *workloadRig) person() person {
	w.Helper()
	chat := w.chats.Add(1)
	w.telegram.SendMessage(chat, "hello") // a chat exists after its user's first message
	made := w.call(
		"POST", "/v1/users", adminToken, map[string]any{"name": "Planted Name", "telegram_id": fmt.Sprint(chat)},
	).want(w, http.StatusCreated)
	p := person{member: member{w.rig, made["id"].(string), made["token"].(string)}, chat: chat}
	p.space = p.workspace(map[string]any{})
	return p
}

// row is one row of a workload.
type row struct {
	*workloadRig
	*workload
	by      person
	subject string
	id      string
}

// row makes a row.
func (w *workloadRig) row(of *workload, by person) *row {
	w.Helper()
	return w.rowOf(of, by, of.subject(w))
}

// endableRow makes a row that a person may end, and waits until it rests.
func (w *workloadRig) endableRow(of *workload, by person) *row {
	w.Helper()
	if of.endable == nil {
		return w.resting(of, by)
	}
	return of.endable(w, by)
}

// rowOf makes a row for a prepared subject.
func (w *workloadRig) rowOf(of *workload, by person, subject string) *row {
	w.Helper()
	r := &row{workloadRig: w, workload: of, by: by, subject: subject}
	if of.ask == nil {
		r.id = of.make(w, subject)
		return r
	}
	r.id = of.ask(w, by, subject, nonce()).want(w, http.StatusCreated)[of.idField].(string)
	return r
}

// resting makes a row and waits until it rests.
func (w *workloadRig) resting(of *workload, by person) *row {
	w.Helper()
	r := w.row(of, by)
	r.settle()
	return r
}

// settle brings a row to the state in which it rests.
func (r *row) settle() {
	r.Helper()
	r.appears()
	if r.workload.rest != nil {
		r.workload.rest(r)
	}
	r.becomes(cmp.Or(r.line, r.rests))
}

// appears waits until the API knows a row that was created without a request.
func (r *row) appears() {
	r.Helper()
	wait.Eventually(r, "the row is there", func() bool { return r.get(r.token()).status == http.StatusOK })
}

// token is the token of a user who may see a row.
func (r *row) token() string {
	if r.ownerIs == ofAdmins {
		return adminToken
	}
	return r.by.token
}

func (r *row) at() string { return r.path + "/" + r.id }

func (r *row) get(token string) answer {
	r.Helper()
	return r.call("GET", r.at(), token, nil)
}

// shown is a row as the API shows it.
func (r *row) shown() map[string]any {
	r.Helper()
	return r.get(r.token()).want(r, http.StatusOK)
}

func (r *row) workflowID() string {
	r.Helper()
	return r.shown()["workflow_id"].(string)
}

// end requests the end of a row. A key belongs to this row alone: an end that nobody answers, or that takes longer than
// the API waits, is requested again.
func (r *row) end(token, key string) (got answer) {
	r.Helper()
	wait.Eventually(r, "its end is answered", func() bool {
		got = r.askEnd(r, token, longest(key+"-"+r.id))
		return got.status != 0 && got.status != http.StatusServiceUnavailable
	})
	return got
}

// longest makes a key of the API's maximum length: longer than any id in Temporal.
func longest(key string) string { return key + strings.Repeat("~", 255-len(key)) }

// becomes waits until a row is in a state.
func (r *row) becomes(state string) {
	r.Helper()
	var last map[string]any
	defer func() {
		if last[r.stateField] != state {
			r.Logf("%s %s is %v", r.name, r.id, last)
		}
	}()
	wait.Eventually(r, r.name+" "+r.id+" is "+state, func() bool {
		if got := r.get(r.token()); got.status == http.StatusOK {
			last = got.body
		}
		return last[r.stateField] == state
	})
}

// events lists what has happened to a row, from the beginning.
func (r *row) events() (all []lifecycle.Event) {
	r.Helper()
	body := r.shown()
	if _, there := body["events"]; !there {
		body = r.call("GET", r.at()+"/events", r.token(), nil).want(r, http.StatusOK)
		body["events"] = body["items"]
	}

	text, err := json.Marshal(body["events"])
	must(r, err)
	must(r, json.Unmarshal(text, &all))
	return all
}

// wantEvents checks that the events of an ended row are numbered without a gap, that each begins where the previous one
// led, and that exactly one led to its end.
func (r *row) wantEvents(state string) {
	r.Helper()
	events := r.events()
	ends, at := 0, ""
	for i, e := range events {
		if e.Seq != int64(i+1) || i > 0 && e.From != at {
			r.Errorf("%s %s: event %d is %+v after %q", r.name, r.id, i+1, e, at)
		}
		at = e.To
		if e.To == state && e.From != state {
			ends++
		}
	}
	if ends != 1 || at != state {
		r.Errorf("%s %s has led to %s %d times: %+v", r.name, r.id, state, ends, events)
	}
}

// mostEvents bounds the history of a row that rests and ends, however long it rests.
const mostEvents = 80

// wantEnded waits until a row's end is in the record, with its reason, and checks that nothing else has happened.
func (r *row) wantEnded(why string) {
	r.Helper()
	r.becomes(r.ended)
	r.wantEvents(r.ended)
	r.wantReason(why)
	wait.Eventually(r, "its workflow ends", func() bool {
		return r.status() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	r.wantEffects(0)
	if events := r.described().GetWorkflowExecutionInfo().GetHistoryLength(); events == 0 || events > mostEvents {
		r.Errorf("the history of %s %s has %d events", r.name, r.id, events)
	}
}

// wantReason checks the comment of a row's last event.
func (r *row) wantReason(why string) {
	r.Helper()
	events := r.events()
	if last := events[len(events)-1]; last.Comment != why {
		r.Errorf("%s %s has ended by %+v, want %q", r.name, r.id, last, why)
	}
}

// wantEffects checks a row's external effects.
func (r *row) wantEffects(want int) {
	r.Helper()
	if got := r.effects(r); got != want {
		r.Errorf("%s %s has %d effects outside, want %d", r.name, r.id, got, want)
	}
}

// status is the status of a row's newest workflow.
func (r *row) status() enumspb.WorkflowExecutionStatus {
	r.Helper()
	return r.described().GetWorkflowExecutionInfo().GetStatus()
}

// described describes a row's newest workflow; nil: it has none. A busy server is asked again.
func (r *row) described() (description *workflowservice.DescribeWorkflowExecutionResponse) {
	r.Helper()
	id := r.workflowID()
	wait.Eventually(r, id+" is described", func() (answered bool) {
		var err error
		description, err = r.client.DescribeWorkflowExecution(r.Context(), id, "")
		return err == nil || temporalio.IsNotFound(err)
	})
	return description
}

// pause pauses a row's workflow, as an operator does in the Web UI.
func (r *row) pause() {
	r.Helper()
	_, err := r.client.WorkflowService().PauseWorkflowExecution(r.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: r.env["TEMPORAL_NAMESPACE"], WorkflowId: r.workflowID(), Identity: "operator", Reason: "to look at it",
		RequestId: r.id,
	})
	must(r, err)
}

// unpause resumes a paused workflow.
func (r *row) unpause() {
	r.Helper()
	_, err := r.client.WorkflowService().UnpauseWorkflowExecution(r.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: r.env["TEMPORAL_NAMESPACE"], WorkflowId: r.workflowID(), Identity: "operator", Reason: "looked at",
		RequestId: r.id,
	})
	must(r, err)
}

// reset resets a row's workflow to its beginning, with the CLI.
func (r *row) reset() {
	r.Helper()
	r.temporalCLI("workflow", "reset", "--workflow-id", r.workflowID(), "--type", "FirstWorkflowTask", "--reason", "test")
}

// finding waits until the reconciler has settled an incident of a row.
func (r *row) finding(kind, done string) {
	r.Helper()
	wait.Eventually(r, "the incident is listed as "+kind, func() bool {
		list := r.call("GET", "/v1/findings?limit=200&workload="+r.name, adminToken, nil)
		items, _ := list.body["items"].([]any)
		for _, item := range items {
			f := item.(map[string]any)
			if f["entity_id"] == r.id && f["finding"] == kind && f["done"] == done {
				return true
			}
		}
		return false
	})
}

// wantUntold searches the histories of all workflows for names that people have given.
func (w *workloadRig) wantUntold() {
	w.Helper()
	list, err := w.client.ListWorkflow(w.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	must(w, err)
	for _, info := range list.Executions {
		text := info.String()
		for _, event := range testtemporal.History(w, w.client, info.Execution.WorkflowId, info.Execution.RunId) {
			text += event.String()
		}
		w.tellsNothing(info.Execution.WorkflowId, text, "planted", "magnet:")
	}
}

// is checks that an answer is of a kind.
func (a answer) is(t testing.TB, kind answerKind) map[string]any {
	t.Helper()
	if kind.code == "" {
		return a.want(t, kind.status)
	}
	a.refused(t, kind.status, string(kind.code))
	return a.body
}

// eventStream records what a stream of events has sent. It reconnects when the stream ends.
type eventStream struct {
	token string
	mu    sync.Mutex
	next  string // the id of the event that is being read
	last  string
	all   []lifecycle.Event
}

// follow follows the events that somebody may see, after an event; empty: from now on.
func (s *rig) follow(token, after string) *eventStream {
	s.Helper()
	stream := &eventStream{token: token, last: after}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for s.Context().Err() == nil {
			stream.follow(s.Context(), s.apiURL)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	wait.Eventually(s, "the stream has begun", func() bool { return stream.place() != "" })
	s.Cleanup(func() { <-over })
	return stream
}

// follow reads the stream until it ends. It continues after the last event of an earlier stream.
func (s *eventStream) follow(ctx context.Context, api string) {
	request, err := http.NewRequestWithContext(ctx, "GET", api+"/v1/events", nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	if last := s.place(); last != "" {
		request.Header.Set("Last-Event-ID", last)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil { // the API is unavailable
		return
	}
	defer response.Body.Close()

	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		s.read(lines.Text())
	}
}

// place is the id of the last event.
func (s *eventStream) place() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// read processes one line of the stream. An event's id comes before its data, and counts once the data is there.
func (s *eventStream) read(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, is := strings.CutPrefix(line, "id: "); is {
		s.next = id
		return
	}

	data, is := strings.CutPrefix(line, "data: ")
	var event lifecycle.Event
	if is && json.Unmarshal([]byte(data), &event) == nil {
		s.all = append(s.all, event)
	}
	if s.next != "" {
		s.last, s.next = s.next, ""
	}
}

// of lists the events of an entity in the order of the stream; without names: all.
func (s *eventStream) of(workload, id string) (found []lifecycle.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.all {
		if workload == "" || e.Workload == workload && e.EntityID == id {
			found = append(found, e)
		}
	}
	return found
}

// types lists the types of all events.
func (s *eventStream) types() (types []string) {
	for _, e := range s.of("", "") {
		types = append(types, e.Type)
	}
	return types
}
