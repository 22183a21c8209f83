package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/dev"
	"stagecoach/internal/sim"
	"stagecoach/internal/store"
)

// market is where a stack's Stars come from.
type market struct {
	chain    *sim.TonCenter
	fragment *sim.Fragment
}

// newMarket starts a chain with a wallet of the stack's own and a Fragment, and tells the stack's programs of them.
func (s *stack) newMarket() *market {
	s.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(s, err)
	m := &market{}
	m.chain, err = sim.NewTonCenter(sim.TonCenterOptions{PublicKey: hex.EncodeToString(public)})
	must(s, err)
	chainURL, stopChain, err := sim.Start("127.0.0.1:0", m.chain)
	must(s, err)
	m.fragment, err = sim.NewFragment(sim.FragmentOptions{TonCenterURL: chainURL})
	must(s, err)
	fragmentURL, stopFragment, err := sim.Start("127.0.0.1:0", m.fragment)
	must(s, err)
	s.Cleanup(func() { stopFragment(); stopChain(); m.fragment.Close(); m.chain.Close() })
	maps.Copy(s.env, map[string]string{
		"STAGECOACH_TON_KEY": hex.EncodeToString(private.Seed()), "STAGECOACH_TONCENTER_URL": chainURL, "STAGECOACH_FRAGMENT_URL": fragmentURL,
		"STAGECOACH_FRAGMENT_COOKIES": "stel_ssid=a; stel_dt=0; stel_token=b; stel_ton_token=c", "STAGECOACH_TX_ALLOW": m.chain.Shop(),
		"STAGECOACH_TX_WHOLE_HISTORY": "true", "STAGECOACH_TONCENTER_RATE": "1000", "STAGECOACH_FRAGMENT_RATE": "1000",
		"STAGECOACH_TX_POLL_INTERVAL": "100ms", "STAGECOACH_TX_RETRY_INTERVAL": "100ms", "STAGECOACH_TX_REBROADCAST": "500ms",
		"STAGECOACH_TX_PAYMENT_TTL": "10s", "STAGECOACH_TX_FINALITY_MARGIN": "1s",
	})
	return m
}

// rolling is a whole service that is restarted piece by piece while people use it.
type rolling struct {
	*library
	market *market
	urls   []string
	asked  atomic.Int64
	again  atomic.Int64 // requests that had to be repeated
}

// TestRollingRestart restarts two workers and two APIs, one after the other, while deliveries, tasks, downloads and purchases
// are asked for. Every request gets its answer from one API or the other, everything comes to its end, and nothing twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	stand := newStandIn(t)
	r := &rolling{library: newLibrary(t, stand, map[string]string{
		"STAGECOACH_BOT": "false", "STAGECOACH_WORKER_STOP_TIMEOUT": "4s", "STAGECOACH_LOG_LEVEL": "info", "STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT": "10s",
	})}
	r.market = r.newMarket()
	workers := []*program{r.start("worker"), r.start("worker")}
	apis := []*program{}
	for range 2 {
		port, err := dev.FreePort()
		must(t, err)
		r.urls = append(r.urls, fmt.Sprintf("http://127.0.0.1:%d", port))
	}
	startAPI := func(i int) *program {
		r.env["STAGECOACH_API_ADDR"] = strings.TrimPrefix(r.urls[i], "http://")
		p := r.run(filepath.Join(programs, "api"))
		r.awaitReady(r.urls[i])
		return p
	}
	for i := range r.urls {
		apis = append(apis, startAPI(i))
	}
	r.apiURL = r.urls[0]
	ann := r.member("Ann")
	space := ann.workspace(map[string]any{})
	chat, token := int64(100), store.NewToken()
	r.telegram.SendMessage(chat, "hello")
	_, err := r.store.CreateUser(t.Context(), store.User{TelegramID: &chat, Name: "Planted Name", Status: store.UserActive}, token)
	must(t, err)
	file, sum := r.file("some.bin", 3<<20)
	r.slow(3 << 20)
	reader := r.reader()

	over := make(chan struct{})
	var load sync.WaitGroup
	var mu sync.Mutex
	var deliveries, tasks, hashes []string
	var downloads []store.Download
	use := func(every time.Duration, what func(n int)) {
		load.Go(func() {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				case <-ticker.C:
					what(n)
				}
			}
		})
	}
	add := func(to *[]string, id any) {
		mu.Lock()
		defer mu.Unlock()
		*to = append(*to, fmt.Sprint(id))
	}
	use(300*time.Millisecond, func(n int) {
		got := r.insist(n, token, "/v1/deliveries", fmt.Sprint("delivery", n), map[string]any{"file_id": fmt.Sprint(file.ID)})
		add(&deliveries, got["id"])
	})
	for worker := range 2 {
		use(100*time.Millisecond, func(n int) {
			key := fmt.Sprintf("task-%d-%d", worker, n)
			made := r.insist(n, ann.token, "/v1/tasks/batch", key, map[string]any{"workspace_id": space, "tasks": []any{map[string]any{"ref": "it", "title": "Do it"}}})
			items, _ := made["items"].([]any)
			if len(items) != 1 {
				r.Errorf("%s: made %v", key, made)
				return
			}
			id := items[0].(map[string]any)["id"].(string)
			add(&tasks, id)
			r.insist(n+1, ann.token, "/v1/tasks/"+id+"/claim", key+"-claim", map[string]any{"comment": "mine"})
			r.insist(n, ann.token, "/v1/tasks/"+id+"/status", key+"-done", map[string]any{"to": "DONE", "comment": "done"})
		})
	}
	use(time.Second, func(n int) {
		made := r.torrent(fmt.Sprintf("book-%d.epub", n), sim.TorrentSpec{NoSeed: true})
		job := r.ask(reader, made.URL)
		downloads = append(downloads, job)
		stand.release(r.library, made)
	})
	use(time.Second, func(n int) {
		hash, err := r.market.chain.Deposit(sim.Deposit{From: "somebody", AmountNano: 1e9, Comment: fmt.Sprintf("durov%d 50", n)})
		if err != nil {
			r.Errorf("deposit: %v", err)
			return
		}
		add(&hashes, hash)
	})

	time.Sleep(time.Second)
	restart := func(p *program, start func() *program) *program {
		began := time.Now()
		p.stop()
		if code := p.ProcessState.ExitCode(); code != 0 {
			t.Errorf("a process ended with %d when it was asked to stop", code)
		}
		t.Logf("it ended within %s", time.Since(began).Round(100*time.Millisecond))
		return start()
	}
	for i := range workers {
		runs := strings.Count(r.log.String(), `"worker runs"`)
		workers[i] = restart(workers[i], func() *program { return r.start("worker") })
		r.eventually(30*time.Second, "the new worker runs", func() bool { return strings.Count(r.log.String(), `"worker runs"`) > runs })
	}
	for i := range apis {
		apis[i] = restart(apis[i], func() *program { return startAPI(i) })
	}
	close(over)
	load.Wait()
	r.telegram.ClearFaults()

	for _, id := range deliveries {
		var number int64
		_, err := fmt.Sscan(id, &number)
		must(t, err)
		job := r.ended(store.Job{ID: number}, time.Minute)
		r.wantState(job, store.JobDelivered, "")
		if job.Attempt != 0 {
			t.Errorf("delivery %s lost %d tries", id, job.Attempt)
		}
	}
	documents := r.documents(chat)
	if len(documents) != len(deliveries) || slices.ContainsFunc(documents, func(d sim.Document) bool { return d.SHA256 != sum }) {
		t.Errorf("%d deliveries made %d documents", len(deliveries), len(documents))
	}
	for _, id := range tasks {
		r.wantDone(id)
	}
	for _, job := range downloads {
		r.completes(job)
	}
	r.wantTidy()
	for _, hash := range hashes {
		r.eventually(time.Minute, "purchase "+hash[:8]+" is over", func() bool {
			found, err := r.store.TransactionByHash(t.Context(), hash)
			return err == nil && found.Status == store.TransactionProcessed
		})
	}
	bought, strays, err := r.market.fragment.Purchases(t.Context())
	must(t, err)
	if len(bought) != len(hashes) || len(strays) != 0 {
		t.Errorf("%d orders bought %d times, and paid %d times for nothing", len(hashes), len(bought), len(strays))
	}
	t.Logf("%d deliveries, %d tasks, %d downloads, %d purchases; %d requests, %d of them repeated",
		len(deliveries), len(tasks), len(downloads), len(hashes), r.asked.Load(), r.again.Load())
}

// insist asks one API and then the other as a client with an idempotency key may: again after no answer, and after one that
// says so.
func (r *rolling) insist(first int, token, path, key string, body any) map[string]any {
	r.Helper()
	r.asked.Add(1)
	for try := range 200 {
		to := *r.stack
		to.apiURL = r.urls[(first+try)%len(r.urls)]
		got := to.call("POST", path, token, body, "Idempotency-Key", key)
		switch {
		case got.status == http.StatusOK || got.status == http.StatusCreated:
			return got.body
		case got.status != 0 && got.status != http.StatusServiceUnavailable:
			r.Errorf("POST %s answered %d %v", path, got.status, got.body)
			return got.body
		}
		r.again.Add(1)
		time.Sleep(100 * time.Millisecond)
	}
	r.Errorf("POST %s is never answered", path)
	return nil
}

// wantDone says that a task was claimed once and done once, in the record and in Temporal.
func (r *rolling) wantDone(id string) {
	r.Helper()
	var types []string
	events, err := r.store.EventsOf(r.Context(), "task", id)
	must(r, err)
	for _, event := range events {
		types = append(types, event.Type)
	}
	if want := []string{"created", "claimed", "done"}; len(types) != len(want) {
		r.Errorf("task %s: events %v, want something like %v", id, types, want)
	}
	var number int64
	_, err = fmt.Sscan(id, &number)
	must(r, err)
	if found, err := r.store.TaskByID(r.Context(), 0, number); err != nil || found.Status != store.TaskDone {
		r.Errorf("task %s: %s, %v", id, found.Status, err)
	}
}
