package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// TestNightWebhookReceiverKilled kills and starts a webhook's receiver at random, and workers and APIs too, during
// continuous events, some of which commit late: the receiver gets each of its owner's events at least once, the first
// deliveries in the order of the stream, and no events of others.
func TestNightWebhookReceiverKilled(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const lasts = 5 * time.Minute
	s := newRig(t, map[string]string{"STAGECOACH_WEBHOOK_PRIVATE": "true", "STAGECOACH_BOT": "false"})
	s.startAPI()
	s.startWorker()
	owner, other := s.user(5), s.user(6)
	token := account.NewToken()
	_, err := s.store.Accounts.CreateToken(t.Context(), account.Token{UserID: owner.ID, Name: "test", Scopes: account.Scopes}, token)
	must(t, err)
	receiver := newWebhookReceiver(t)
	defer receiver.kill()

	var made shape.Webhook
	api := &client.Client{Base: s.apiURL, Token: token}
	answer, _, err := api.Send(t.Context(), client.Call{
		Method: http.MethodPost, Path: "/v1/webhooks", Body: map[string]any{"address": receiver.address() + "/hidden-path"},
	})
	must(t, err)
	must(t, json.Unmarshal(answer, &made))

	over := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { s.writeEvents(over, owner.ID, other.ID) })
	}
	all.Go(func() { receiver.disturb(over) })
	all.Go(func() { s.killProcesses(over) })
	time.Sleep(lasts)
	wait.Eventually(t, "enough events and kills", func() bool {
		return len(receiver.first()) >= 50 && receiver.kills.Load() > 0 && s.killed.Load() > 0
	})
	close(over)
	all.Wait()
	receiver.start()

	want := s.eventsOf(owner.ID, made.ID)
	wait.Eventually(s, "the receiver has all", func() bool { return len(receiver.first()) >= len(want) })
	got, tries := receiver.first(), receiver.tries()
	t.Logf("%d events in %s, %d requests, %d kills of the receiver, %d of processes", len(want), lasts, tries, receiver.kills.Load(), s.killed.Load())
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%d events arrived, want %d; the %d. is %s, want %s", len(got), len(want), i, got[i], want[i])
			}
		}
		t.Fatalf("%d events arrived, want %d", len(got), len(want))
	}
	for _, secret := range []string{"hidden-path", made.Secret} {
		if strings.Contains(s.log.tail(1<<30), secret) {
			t.Errorf("the logs have %q", secret)
		}
	}
}

// writeEvents writes events of two users until over, each in a transaction that lasts for a while.
func (s *rig) writeEvents(over <-chan struct{}, owner, other int64) {
	conn := testdb.Connect(s, s.ground.DatabaseURL)
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(rand.IntN(100)) * time.Millisecond):
		}

		err := pgx.BeginFunc(s.Context(), conn, func(tx pgx.Tx) error {
			for range 1 + rand.IntN(3) {
				whose := owner
				if rand.IntN(3) == 0 {
					whose = other
				}
				if _, err := tx.Exec(s.Context(), `INSERT INTO events (workload, entity_id, seq, type, to_state, owner_id)
					VALUES ('download', '0', nextval('event_ids'), 'noted', 'queued', $1)`, whose); err != nil {
					return err
				}
				time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
			}
			return nil
		})
		if err != nil {
			s.Errorf("no events are written: %v", err)
			return
		}
	}
}

// eventsOf lists the messages that a webhook sends for the events of its owner, in the order of the stream.
func (s *rig) eventsOf(owner int64, webhook string) (ids []string) {
	s.Helper()
	for _, event := range testdb.EventsAfter(s, s.ground.DatabaseURL, s.store, core.Cursor{}) {
		if event.OwnerID != nil && *event.OwnerID == owner {
			ids = append(ids, fmt.Sprintf("msg_%s_%d", webhook, event.ID))
		}
	}
	return ids
}

// killProcesses kills the worker and the API in turn until over, and starts them again.
func (s *rig) killProcesses(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(4000+rand.IntN(4000)) * time.Millisecond):
		}

		if s.killed.Add(1)%2 == 1 {
			s.worker.kill()
			s.startWorker()
			continue
		}
		s.api.kill()
		s.startAPI()
	}
}

// webhookReceiver is a receiver that can be killed: requests in progress are cut, and it is known which were answered.
type webhookReceiver struct {
	t     *testing.T
	addr  string
	kills atomic.Int64

	mu       sync.Mutex
	server   *http.Server
	order    []string // first deliveries
	bodies   [][]byte
	seen     map[string]bool
	requests int
}

func newWebhookReceiver(t *testing.T) *webhookReceiver {
	t.Helper()
	port, err := servers.FreePort()
	must(t, err)
	r := &webhookReceiver{t: t, addr: fmt.Sprintf("127.0.0.1:%d", port), seen: map[string]bool{}}
	r.start()
	return r
}

func (r *webhookReceiver) address() string { return "http://" + r.addr }

func (r *webhookReceiver) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		return
	}

	var listener net.Listener
	var err error
	for range 100 { // another connection may have the port for a moment
		if listener, err = net.Listen("tcp", r.addr); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		r.t.Errorf("the receiver does not start: %v", err)
		return
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func(server *http.Server) { _ = server.Serve(listener) }(r.server)
}

func (r *webhookReceiver) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		_ = r.server.Close()
		r.server = nil
	}
}

// disturb kills the receiver at random until over.
func (r *webhookReceiver) disturb(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(200+rand.IntN(3000)) * time.Millisecond):
		}
		r.kill()
		r.kills.Add(1)
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		r.start()
	}
}

// ServeHTTP accepts a message. At times it accepts it and is killed before the response, or refuses it.
func (r *webhookReceiver) ServeHTTP(w http.ResponseWriter, rq *http.Request) {
	body, err := io.ReadAll(rq.Body)
	if err != nil {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	dice := rand.IntN(100)
	if dice < 2 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}

	if id := rq.Header.Get("Webhook-Id"); !r.seen[id] {
		r.seen[id] = true
		if !strings.HasPrefix(id, "msg_") {
			r.t.Errorf("the id is %q", id)
		}
		r.order = append(r.order, id)
		r.bodies = append(r.bodies, body)
	}
	if dice < 4 {
		panic(http.ErrAbortHandler)
	}
}

func (r *webhookReceiver) first() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

func (r *webhookReceiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// story lists what happened to each entity, in the order of the messages.
func (r *webhookReceiver) story() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	story := map[string][]string{}
	for _, body := range r.bodies {
		var message struct {
			Data map[string]any `json:"data"`
		}
		if err := json.Unmarshal(body, &message); err != nil {
			r.t.Errorf("a message is %s: %v", body, err)
		}
		id, _ := message.Data["entity_id"].(string)
		story[id] = append(story[id], told(message.Data))
	}
	return story
}
