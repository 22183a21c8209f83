package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/service/webhooks"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/converter"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/api/rest/events"
	"stagecoach/api/rest/operators"
	"stagecoach/api/rest/server"
	"stagecoach/dev/testdb"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/feed"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// allParts are the parts of an API without services.
var allParts = parts.REST(all.Services{}, nil)

// rig is the API with its dependencies; Temporal and the storage are stubs.
type rig struct {
	t        *testing.T
	store    *store.Store
	db       *pgxpool.Pool // bypasses the store
	temporal *temporalStub
	disk     *disk
	torrents *torrentsStub
	tasks    *tasks.Service

	downloads    *downloads.Service
	transactions *transactions.Service
	waiting      *atomic.Int64 // callers who wait for the next task
	chain        *chainStub
	measures     *metrics.Metrics
	api          http.Handler
	url          string
	log          *logs
	stop         func()
	schemas      object // of the document, once schema has read it

	admin, ada, bob account.User
	adminToken, adaToken, bobToken,
	pendingToken, blockedToken string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, func(*rest.Options) {})
}

// newRigWith is newRig with changed options.
func newRigWith(t *testing.T, change func(*rest.Options)) *rig {
	t.Helper()
	return newRigOn(t, testdb.URL(t), change)
}

// newRigOn is newRigWith on a given database.
func newRigOn(t *testing.T, url string, change func(*rest.Options)) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	w := &rig{t: t, store: s, db: testdb.DB(t, url), temporal: &temporalStub{}, disk: newDisk(), chain: &chainStub{}, log: &logs{}, waiting: &atomic.Int64{}}
	w.torrents = &torrentsStub{temporalStub: w.temporal, store: s}
	log := logger(w.log)
	c := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: w.disk, TTL: time.Hour})
	t.Cleanup(c.Close)
	m := metrics.New()
	w.tasks = &tasks.Service{
		Temporal: &taskStub{temporalStub: w.temporal, store: s}, Store: s, Log: log, Patience: time.Minute,
		LeastDeadline: time.Second, LeastRelease: time.Minute,
		Line: waiting.NewLine(2, func(n int) { w.waiting.Store(int64(n)) }),
	}
	w.downloads = &downloads.Service{
		Temporal: w.torrents, Store: s, Log: log, CancelPatience: time.Minute, Grace: time.Minute,
		Indexers: indexersStub{}, Library: true,
	}
	events := events.NewFeed(feed.Options{
		Events: s.Notices, Tokens: s.Accounts, Webhooks: s.Webhooks,
		PerPerson: 10, Total: 1000, CatchUp: 50_000, OnLag: m.EventsLag.Set, OnEvents: w.tasks.Line.Hear,
		OnFollowers: func(n int) { m.EventStreams.Set(float64(n)) },
	})

	w.stop = run(events)
	reporter := status.New(status.Options{
		Store: s, Temporal: w.temporal, Queue: lifecycle.DeliveryQueue, PollGap: time.Minute,
	})

	m.Registry.MustRegister(reporter)
	w.measures = m
	w.transactions = &transactions.Service{
		Temporal: &transactionsStub{temporalStub: w.temporal, store: s}, Store: s, Log: log, Patience: time.Minute,
		Balance: w.chain.balance, StuckAfter: time.Hour, Most: 1_000_000, Reserve: 20_000_000, Slippage: 100,
		Price:    func(context.Context, int64) (int64, error) { return 460_900_000, w.chain.failing() },
		Friendly: func(wallet string) string { return "UQ" + wallet[2:] },
		Pages:    "https://pages.example",
	}
	services := all.Services{
		Deliveries: &deliveries.Service{
			Limits:   deliveries.Limits{TTL: time.Hour, JobTimeout: 15 * time.Minute},
			Temporal: w.temporal, Store: s, MaxFileSize: 2_097_152_000, Log: log,
			OnEnqueued: func(source string) { m.Delivery().JobsEnqueued.WithLabelValues(source).Inc() },
		},
		Tasks:        w.tasks,
		Downloads:    w.downloads,
		Transactions: w.transactions,
	}

	w.downloads.Deliveries = services.Deliveries

	options := rest.Options{
		Config: server.Config{Store: s, Log: log, Version: "1.2.3"},
		Parts:  parts.REST(services, c), Workloads: services.Workloads(), Status: reporter,
		Webhooks: &webhooks.Service{Temporal: w.temporal, Store: s.Webhooks, Events: s.Notices, Log: log, Patience: 100 * time.Millisecond},
		Temporal: w.temporal, Feed: events,
		Codec: operators.CodecOptions{
			Handler: converter.NewPayloadCodecHTTPHandler(payloads), Namespace: "default", Origin: webUI,
		},
	}

	change(&options)
	api := rest.New(options)
	tool.Register(api, parts.MCP()...)
	w.api = api
	server := httptest.NewServer(api)
	t.Cleanup(func() { w.stop(); server.CloseClientConnections(); server.Close() })
	w.url = server.URL
	w.admin, w.adminToken = w.user("Root", 100, account.RoleAdmin, account.UserActive)
	w.ada, w.adaToken = w.user("Ada", 101, account.RoleUser, account.UserActive)
	w.bob, w.bobToken = w.user("Bob", 102, account.RoleUser, account.UserActive)
	_, w.pendingToken = w.user("Pen", 103, account.RoleAdmin, account.UserPending)
	_, w.blockedToken = w.user("Blo", 104, account.RoleAdmin, account.UserBlocked)
	return w
}

// withoutTemporal takes Temporal away, and lets nobody wait for it long, until the function that it returns is called.
func (w *rig) withoutTemporal() (back func()) {
	w.tasks.Patience, w.transactions.Patience = time.Second, time.Second
	w.temporal.setDown(true)
	return func() {
		w.temporal.setDown(false)
		w.tasks.Patience, w.transactions.Patience = time.Minute, time.Minute
	}
}

// run runs a feed until stop is called.
func run(events *feed.Feed) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { events.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// logger writes JSON lines.
func logger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (w *rig) user(name string, telegram int64, role, status string) (account.User, string) {
	w.t.Helper()
	token := account.NewToken()
	user, err := w.store.Accounts.CreateUser(
		w.t.Context(), account.User{Name: name, TelegramID: &telegram, Role: role, Status: status}, token,
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return user, token
}

// file adds a file to the shared folder and to the record.
func (w *rig) file(p string, size int64) delivery.File {
	w.t.Helper()
	w.disk.put(p, size)
	files, err := w.store.Deliveries.SaveFiles(
		w.t.Context(), []delivery.File{{Path: p, Parent: path.Dir(p), Name: path.Base(p), Size: size, ModifiedAt: time.Now()}},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return files[0]
}

func (w *rig) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// reply is a response of the API.
type reply struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// send makes a request. body is text, or is encoded as JSON; headers are pairs.
func (w *rig) send(token, method, target string, body any, headers ...string) reply {
	w.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}

	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+target, reader)
	if err != nil {
		w.t.Fatal(err)
	}

	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}

	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.do(r)
}

func (w *rig) do(r *http.Request) reply {
	w.t.Helper()
	return w.by(http.DefaultClient, r)
}

// by makes a request with a client.
func (w *rig) by(client *http.Client, r *http.Request) reply {
	w.t.Helper()
	a, err := w.attempt(client, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// attempt makes a request that may have no answer.
func (w *rig) attempt(client *http.Client, r *http.Request) (reply, error) {
	w.t.Helper()
	response, err := client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}

	a := reply{
		t: w.t, call: r.Method + " " + r.URL.RequestURI(), status: response.StatusCode, header: response.Header,
		raw: string(raw),
	}

	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			w.t.Fatalf("%s answers what is no JSON: %v\n%s", a.call, err, raw)
		}
	}

	a.discreet()
	return a, nil
}

// discreet checks that a response shows no internals.
func (a reply) discreet() {
	a.t.Helper()
	if a.header.Get("X-Request-Id") == "" {
		a.t.Errorf("%s: no request id", a.call)
	}
	if a.status < 400 {
		return
	}

	for _, word := range []string{"SQLSTATE", "pgx", "json:", "goroutine", ".go:", "huma", "rest.", "secret"} {
		if strings.Contains(a.raw, word) {
			a.t.Errorf("%s shows %q:\n%s", a.call, word, a.raw)
		}
	}
}

// ok checks the status of a success.
func (a reply) ok(status int) reply {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s answers %d, want %d:\n%s", a.call, a.status, status, a.raw)
	}
	return a
}

// refused checks that the response is a problem with this status, code and, if given, field.
func (a reply) refused(status int, code fault.Code, field string) reply {
	a.t.Helper()
	if a.status != status || a.body["code"] != string(code) || a.body["status"] != float64(status) {
		a.t.Fatalf("%s answers %d, want %d %s:\n%s", a.call, a.status, status, code, a.raw)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("%s: content type %q", a.call, got)
	}

	for _, name := range []string{"type", "title", "detail"} {
		if text, _ := a.body[name].(string); text == "" {
			a.t.Errorf("%s: no %s in\n%s", a.call, name, a.raw)
		}
	}

	if _, ok := a.body["details"].(map[string]any); !ok {
		a.t.Errorf("%s: no details in\n%s", a.call, a.raw)
	}

	fields, ok := a.body["errors"].([]any)
	if !ok {
		a.t.Fatalf("%s: no errors in\n%s", a.call, a.raw)
	}

	named := slices.ContainsFunc(fields, func(e any) bool { return e.(map[string]any)["field"] == field })
	if field != "" && !named {
		a.t.Errorf("%s does not name %q:\n%s", a.call, field, a.raw)
	}
	return a
}

func (a reply) items() []map[string]any {
	a.t.Helper()
	list, ok := a.body["items"].([]any)
	if !ok {
		a.t.Fatalf("%s has no items:\n%s", a.call, a.raw)
	}
	items := make([]map[string]any, len(list))
	for i, item := range list {
		items[i] = item.(map[string]any)
	}
	return items
}

// walk follows next_cursor to the end and returns the named field of each item.
func (w *rig) walk(token, target, field string) []string {
	w.t.Helper()
	var all []string
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}

	for cursor := ""; ; {
		page := w.send(token, http.MethodGet, target+cursor, nil).ok(http.StatusOK)
		for _, item := range page.items() {
			all = append(all, fmt.Sprint(item[field]))
		}
		next, _ := page.body["next_cursor"].(string)
		if next == "" {
			return all
		}
		cursor = separator + "cursor=" + next
	}
}

// audited lists the rows of the audit log, oldest first.
func (w *rig) audited() []string {
	w.t.Helper()
	entries, err := w.store.Accounts.AuditLog(w.t.Context(), 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var rows []string
	for _, e := range slices.Backward(entries) {
		rows = append(rows, fmt.Sprintf("%d %s %s %s %s", *e.ActorID, e.Action, e.Subject, e.Outcome, e.Door))
	}
	return rows
}
