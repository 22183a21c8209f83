package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const (
	oddRequests = 1_000 // of a test run; make odd sends more of them
	oddPatience = 200   // requests of an operation until one of them succeeds
)

// TestOddRequests sends requests to all operations of the document: each starts out potentially valid, and then one
// thing is made odd. The response is never a 5xx, and each refusal is a problem document with a code.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	requests, seed := setting(t, "STAGECOACH_ODD_REQUESTS", oddRequests), setting(t, "STAGECOACH_ODD_SEED", 1)
	t.Logf("STAGECOACH_ODD_REQUESTS=%d STAGECOACH_ODD_SEED=%d", requests, seed)
	if testing.Short() {
		requests /= 20
	}

	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	w.tasks.Line.Stop() // nobody waits for the next task
	o := &oddCaller{rig: w, rand: rand.New(rand.NewPCG(uint64(seed), 0)), answers: map[string]map[int]int{}}
	o.document = w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body
	operations := o.operations()
	reading := slices.DeleteFunc(slices.Clone(operations), func(op documented) bool { return op.method != "GET" && op.method != "PUT" })
	for _, op := range reading { // before the others end and delete their subjects
		for range oddPatience {
			if o.wasRight(op) {
				break
			}
			o.call(op)
		}
	}

	for i := range requests {
		o.number = i
		o.call(operations[o.rand.IntN(len(operations))])
	}

	for _, op := range operations {
		t.Log(op.name(), o.answers[op.name()])
	}
	for _, op := range reading {
		if !o.wasRight(op) {
			t.Errorf("%s was never right: %v", op.name(), o.answers[op.name()])
		}
	}
}

// wasRight reports whether an operation has succeeded at least once.
func (o *oddCaller) wasRight(op documented) bool {
	counts := o.answers[op.name()]
	return counts[http.StatusOK]+counts[http.StatusCreated]+counts[http.StatusNoContent] > 0
}

func setting(t *testing.T, name string, standard int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// callersOutOfReach creates users with ids that no request hits: they would lose their rights or tokens.
func (w *rig) callersOutOfReach() {
	w.t.Helper()
	w.exec(`ALTER TABLE users ALTER COLUMN id RESTART WITH 1000000`)
	w.exec(`ALTER TABLE tokens ALTER COLUMN id RESTART WITH 1000000`)
	w.admin, w.adminToken = w.user("Rhea", 200, account.RoleAdmin, account.UserActive)
	w.ada, w.adaToken = w.user("Anna", 201, account.RoleUser, account.UserActive)
	w.bob, w.bobToken = w.user("Bert", 202, account.RoleUser, account.UserActive)
	w.exec(`ALTER TABLE users ALTER COLUMN id RESTART WITH 6`)
	w.exec(`ALTER TABLE tokens ALTER COLUMN id RESTART WITH 6`)
}

// oneOfEverything fills the record, so that ids such as 1 and 2 exist.
func (w *rig) oneOfEverything() {
	w.t.Helper()
	for i := range 3 {
		w.deliver(w.adaToken, w.file(fmt.Sprint("/file", i), 10), fmt.Sprint(i))
	}

	for range 12 { // users whose ids requests hit, and delete
		w.hook(`{"address":"` + receiver + `"}`)
	}

	w.exec(`UPDATE users SET owner_id = $1 WHERE id IN (2, 3)`, w.ada.ID) // agents whose ids requests hit

	workspace := w.workspace()
	for range 4 {
		w.task(w.adaToken, workspace, nil)
	}

	w.exec(`UPDATE tasks SET status = 'STUCK', status_deadline_at = NULL WHERE id = 4`)
	for i := range 3 {
		w.download(w.adaToken, w.book(fmt.Sprint("book ", i)), download.MediaText)
	}

	b := w.bank()
	b.deposit()
	b.failed("FRAGMENT_UNAVAILABLE", lifecycle.Retryable)
	b.inReview()
	b.processed()
	w.exec(`UPDATE transactions SET receipt_key = '0f8fad5bd9cb469fa16570867728950e' WHERE hash = $1`, b.deposit()) // the document's example
}

// oddCaller makes requests in sequence. Its random numbers come from one source, so that the same seed produces the
// same requests.
type oddCaller struct {
	*rig
	rand     *rand.Rand
	document map[string]any
	number   int
	answers  map[string]map[int]int // counts by operation and status
}

// documented is an operation in the document.
type documented struct {
	method, path string
	parameters   []map[string]any
	body         map[string]any // its schema; nil: none
}

func (d documented) name() string { return d.method + " " + d.path }

func (o *oddCaller) operations() (all []documented) {
	paths := o.document["paths"].(map[string]any)
	for _, path := range sortedKeys(paths) {
		item := paths[path].(map[string]any)
		for _, method := range sortedKeys(item) {
			described, ok := item[method].(map[string]any)
			if !ok {
				continue
			}

			d := documented{method: strings.ToUpper(method), path: path}
			parameters, _ := described["parameters"].([]any)
			for _, p := range parameters {
				d.parameters = append(d.parameters, p.(map[string]any))
			}

			if request, ok := described["requestBody"].(map[string]any); ok {
				for _, media := range request["content"].(map[string]any) {
					d.body, _ = media.(map[string]any)["schema"].(map[string]any)
				}
			}

			all = append(all, d)
		}
	}

	return all
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// call makes one request and checks the response.
func (o *oddCaller) call(op documented) {
	r, body := o.request(op)
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()

	response, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		o.t.Logf("request %d: %s %q: %v", o.number, r.Method, r.URL, err) // servers may hang up on large requests
		return
	}
	defer func() { _ = response.Body.Close() }()

	if o.answers[op.name()] == nil {
		o.answers[op.name()] = map[int]int{}
	}

	o.answers[op.name()][response.StatusCode]++
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return // it has no end
	}

	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 500 || response.StatusCode >= 400 && !isProblem(response, raw, r.Method) {
		o.t.Errorf("request %d: %s %q %q\n%.2000q\nanswers %d %v: %v\n%.2000s", o.number, r.Method, r.URL, r.Header, body,
			response.StatusCode, response.Header, err, raw)
	}
}

func isProblem(response *http.Response, raw []byte, method string) bool {
	if method == http.MethodHead {
		return true
	}

	var said struct {
		Code   string `json:"code"`
		Title  string `json:"title"`
		Status int    `json:"status"`
	}

	err := json.Unmarshal(raw, &said)
	return err == nil && response.Header.Get("Content-Type") == "application/problem+json" && said.Code != "" && said.Title != "" &&
		said.Status == response.StatusCode
}

// Parts of a request that can be odd; a part that it does not have changes nothing.
const (
	oddParameter = iota
	oddValue
	oddBody
	oddHeader
	oddElse
	oddNothing
	oddParts
)

// request builds a potentially valid request, and mostly makes one thing about it odd.
func (o *oddCaller) request(op documented) (r *http.Request, body []byte) {
	odd := o.rand.IntN(oddParts)
	if odd == oddValue && op.body == nil {
		odd = oddParameter
	}

	path, query, header := o.parameters(op, odd == oddParameter)
	if op.body != nil {
		body = o.body(op.body, odd == oddValue, odd == oddBody)
		header.Set("Content-Type", "application/json")
	}

	method, rawQuery := op.method, query.Encode()
	switch {
	case odd == oddHeader:
		o.oddHeader(header)
	case odd == oddElse && o.rand.IntN(4) == 0:
		rawQuery = o.oddQuery(rawQuery)
	case odd == oddElse && o.rand.IntN(6) == 0:
		method = pick(o.rand, []string{"HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "POST", "GET", "odd"})
	}

	if header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+pick(o.rand, []string{o.adminToken, o.adminToken, o.adaToken, o.bobToken}))
	}

	u, err := url.Parse(o.url)
	if err != nil {
		o.t.Fatal(err)
	}

	u.Opaque, u.RawQuery = "//"+u.Host+strings.ReplaceAll(path, " ", "%20"), rawQuery
	r = &http.Request{Method: method, URL: u, Header: header, Host: u.Host}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if o.rand.IntN(20) == 0 {
			r.ContentLength = -1 // chunked
		}
	}

	return r, body
}

// parameters fills an operation's parameters with potentially valid values, except for an odd one.
func (o *oddCaller) parameters(op documented, odd bool) (path string, query url.Values, header http.Header) {
	path, query, header = op.path, url.Values{}, http.Header{}
	strange := -1
	if odd && len(op.parameters) > 0 {
		strange = o.rand.IntN(len(op.parameters))
	}

	for i, p := range op.parameters {
		name := p["name"].(string)
		schema := o.resolve(p["schema"])
		text, given := o.text(schema, p["example"]), p["required"] == true || o.rand.IntN(3) == 0 && name != "cursor"
		if i == strange {
			text, given = o.oddFor(schema), o.rand.IntN(8) > 0
		}

		switch {
		case p["in"] == "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case p["in"] == "query" && given:
			query.Add(name, text)
		case p["in"] == "header" && given:
			header.Set(name, headerText(text))
		}
	}

	return path, query, header
}
