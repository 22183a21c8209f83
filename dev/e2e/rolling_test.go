package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
)

// rolling is a complete service that is restarted process by process while it is used.
type rolling struct {
	*library
	stand    *standIn
	programs string // folder of the processes that are started from now on

	urls          []string
	workers, apis []*program

	mu                        sync.Mutex // guards the requests
	deliveries, tasks, hashes []string
	downloads                 []download.Download
	asked, again              atomic.Int64 // requests, and those that had to be repeated

	chat  int64
	speed int64    // speed of streams, in bytes per second
	sums  []string // of the files
}

// rollingSettings are those of a service that is restarted while it is used.
var rollingSettings = map[string]string{
	"STAGECOACH_BOT": "false", "STAGECOACH_WORKER_STOP_TIMEOUT": "4s", "STAGECOACH_LOG_LEVEL": "info",
}

// newRolling starts two workers and two APIs from the folder, on a database that they may have to migrate.
func newRolling(t *testing.T, database, programs string) *rolling {
	t.Helper()
	stand := newStandIn(t)
	r := newRollingOn(newLibraryOn(t, database, stand, rollingSettings), stand, programs)
	for range 2 {
		r.workers = append(r.workers, r.startOneWorker())
	}

	for i := range r.urls {
		r.apis = append(r.apis, r.startOneAPI(i))
	}
	return r
}

// newRollingOn prepares a service with two APIs on a library, and starts none of its processes.
func newRollingOn(l *library, stand *standIn, programs string) *rolling {
	l.Helper()
	r := &rolling{library: l, stand: stand, programs: programs, chat: 100, speed: fileSize}
	r.startShop(tonsim.TonCenterOptions{Balance: -1})
	r.env["STAGECOACH_TX_PAYMENT_TTL"] = "10s"

	for range 2 {
		port, err := servers.FreePort()
		must(r, err)
		r.urls = append(r.urls, fmt.Sprintf("http://127.0.0.1:%d", port))
	}

	r.apiURL = r.urls[0]
	return r
}

// startOneWorker starts a worker and waits until it takes work.
func (r *rolling) startOneWorker() *program {
	r.Helper()
	runs := r.runningWorkers()
	p := r.run(filepath.Join(r.programs, "worker"))
	wait.Eventually(r, "the new worker runs", func() bool { return r.runningWorkers() > runs })
	return p
}

func (r *rolling) startOneAPI(i int) *program {
	r.Helper()
	r.env["STAGECOACH_API_ADDR"] = strings.TrimPrefix(r.urls[i], "http://")
	p := r.run(filepath.Join(r.programs, "api"))
	r.awaitReady(r.urls[i])
	return p
}

// restartAll restarts the workers and then the APIs, one after the other.
func (r *rolling) restartAll() {
	r.Helper()
	for i := range r.workers {
		r.end(r.workers[i])
		r.workers[i] = r.startOneWorker()
	}
	for i := range r.apis {
		r.end(r.apis[i])
		r.apis[i] = r.startOneAPI(i)
	}
}

// end asks a process to stop, which must succeed.
func (r *rolling) end(p *program) {
	r.Helper()
	began := time.Now()
	p.stop()
	if code := p.ProcessState.ExitCode(); code != 0 {
		r.Errorf("a process ended with %d when it was asked to stop", code)
	}
	r.Logf("it ended within %s", time.Since(began).Round(100*time.Millisecond))
}

// fileSize is the size of the files that are delivered.
const fileSize = 60 << 10

// manyFiles creates files with different content: known content would be delivered without a stream.
func (r *rolling) manyFiles() (files []delivery.File) {
	r.Helper()
	for n := range 400 {
		file, sum := r.file(fmt.Sprintf("file-%d.bin", n), fileSize)
		files, r.sums = append(files, file), append(r.sums, sum)
	}
	return files
}

// use requests deliveries, tasks, downloads and purchases until the returned function is called.
func (r *rolling) use() (stop func()) {
	r.Helper()
	ann := r.member("Ann")
	space := ann.workspace(map[string]any{})
	customer := r.customer()
	files := r.manyFiles()
	r.slow(r.speed)
	reader := r.member("Reader")

	over := make(chan struct{})
	var load sync.WaitGroup
	every := func(pause time.Duration, what func(n int)) {
		load.Go(func() {
			ticker := time.NewTicker(pause)
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

	every(300*time.Millisecond, func(n int) {
		if n < len(files) {
			r.deliverNow(n, customer, files[n])
		}
	})
	for worker := range 2 {
		every(100*time.Millisecond, func(n int) { r.workOn(n, ann, space, fmt.Sprintf("task-%d-%d", worker, n)) })
	}

	every(time.Second, func(n int) { r.downloadNow(n, reader) })
	every(time.Second, func(n int) { r.buy(fmt.Sprintf("durov%d 50", n)) })
	return func() { close(over); load.Wait() }
}

func (r *rolling) add(to *[]string, id any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*to = append(*to, fmt.Sprint(id))
}

// customer creates a user with a chat, and returns the token.
func (r *rolling) customer() (token string) {
	r.Helper()
	r.telegram.SendMessage(r.chat, "hello") // a chat exists after its user's first message
	made := r.call(
		"POST", "/v1/users", adminToken, map[string]any{"name": "Planted Name", "telegram_id": fmt.Sprint(r.chat)},
	).want(r, http.StatusCreated)
	return made["token"].(string)
}

func (r *rolling) deliverNow(n int, token string, file delivery.File) {
	r.Helper()
	got := r.insist(n, token, "/v1/deliveries", fmt.Sprint("delivery", n), map[string]any{"file_id": fmt.Sprint(file.ID)})
	r.add(&r.deliveries, got["id"])
}

func (r *rolling) downloadNow(n int, reader member) {
	r.Helper()
	made := r.torrent(fmt.Sprintf("book-%d.epub", n), torrentsim.TorrentSpec{NoSeed: true})
	book := r.insist(n, reader.token, "/v1/books", fmt.Sprint("book", n), map[string]any{"title": made.Name})
	got := r.insist(n+1, reader.token, "/v1/downloads", fmt.Sprint("download", n), map[string]any{
		"book_id": book["id"], "media_type": "text", "source": "test", "source_url": made.URL,
	})

	id, _ := got["id"].(string)
	r.mu.Lock()
	r.downloads = append(r.downloads, download.Download{ID: number(r, id)})
	r.mu.Unlock()
	r.stand.release(r.library, made)
}

// workOn creates a task, claims it and completes it.
func (r *rolling) workOn(n int, who member, space, key string) {
	r.Helper()
	made := r.insist(
		n, who.token, "/v1/tasks/batch", key,
		map[string]any{"workspace_id": space, "tasks": []any{map[string]any{"ref": "it", "title": "Do it"}}},
	)

	items, _ := made["items"].([]any)
	if len(items) != 1 {
		r.Errorf("%s: made %v", key, made)
		return
	}

	id := items[0].(map[string]any)["id"].(string)
	r.add(&r.tasks, id)
	r.insist(n+1, who.token, "/v1/tasks/"+id+"/claim", key+"-claim", map[string]any{"comment": "mine"})
	r.insist(n, who.token, "/v1/tasks/"+id+"/status", key+"-done", map[string]any{"to": "DONE", "comment": "done"})
}

func (r *rolling) buy(comment string) {
	r.Helper()
	hash, err := r.ground.Chain.Deposit(tonsim.Deposit{From: "somebody", AmountNano: 1e9, Comment: comment})
	if err != nil {
		r.Errorf("deposit: %v", err)
		return
	}
	r.add(&r.hashes, hash)
}

// wantAllEnded waits until every requested entity has ended, and checks that nothing happened twice and no attempt was
// lost.
func (r *rolling) wantAllEnded() {
	r.Helper()
	r.telegram.ClearFaults()
	for _, id := range r.deliveries {
		job := r.ended(delivery.Job{ID: number(r, id)})
		r.wantState(job, lifecycle.DeliveryDelivered, "")
		if job.Attempt != 0 {
			r.Errorf("delivery %s lost %d tries", id, job.Attempt)
		}
	}

	r.wantDocuments(len(r.deliveries), len(r.deliveries))
	r.wantOthersEnded()
}

// wantDocuments checks how many documents the chat has, and that all of them are different files.
func (r *rolling) wantDocuments(least, most int) {
	r.Helper()
	times := map[string]int{}
	for _, document := range r.documents(r.chat) {
		if times[document.SHA256]++; times[document.SHA256] > 1 || !slices.Contains(r.sums, document.SHA256) {
			r.Errorf("the chat has %s twice, or it is none of the files", document.Name)
		}
	}
	if n := len(times); n < least || n > most {
		r.Errorf("%d deliveries made %d documents, want %d to %d", len(r.deliveries), n, least, most)
	}
}

// wantOthersEnded is the part of wantAllEnded for everything except deliveries.
func (r *rolling) wantOthersEnded() {
	r.Helper()
	for _, id := range r.tasks {
		r.wantDone(id)
	}

	for _, job := range r.downloads {
		r.completes(job)
	}

	r.wantTidy()

	for _, hash := range r.hashes {
		wait.Eventually(r, "purchase "+hash[:8]+" is over", func() bool {
			found, err := r.store.Transactions.ByHash(r.Context(), hash)
			return err == nil && found.State == lifecycle.TransactionProcessed
		})
	}

	bought, strays, err := r.ground.Fragment.Purchases(r.Context())
	must(r, err)
	if len(bought) != len(r.hashes) || len(strays) != 0 {
		r.Errorf("%d orders bought %d times, and paid %d times for nothing", len(r.hashes), len(bought), len(strays))
	}

	r.Logf("%d deliveries, %d tasks, %d downloads, %d purchases; %d requests, %d of them repeated",
		len(r.deliveries), len(r.tasks), len(r.downloads), len(r.hashes), r.asked.Load(), r.again.Load())
}

// TestVersionsRollingRestart restarts two workers and two APIs, one after the other, while deliveries, tasks, downloads
// and purchases are requested. Every request is answered by one API or the other, everything ends, and nothing happens
// twice.
func TestVersionsRollingRestart(t *testing.T) {
	t.Parallel()
	night.Only(t)
	needsServers(t)
	must(t, buildPrograms())
	r := newRolling(t, testdb.URL(t), programs)

	stop := r.use()
	time.Sleep(time.Second)
	r.restartAll()
	stop()
	r.wantAllEnded()
}

// insist calls one API and then the other, as a client with an idempotency key may: it retries without an answer, and
// after an answer that allows a retry.
func (r *rolling) insist(first int, token, path, key string, body any) map[string]any {
	r.Helper()
	r.asked.Add(1)
	for try, began := 0, time.Now(); time.Since(began) < wait.Patience; try++ {
		to := *r.rig
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

// wantDone checks that a task was claimed once and completed once, in the record and in Temporal.
func (r *rolling) wantDone(id string) {
	r.Helper()
	var types []string
	events, err := r.store.Notices.EventsOf(r.Context(), "task", id)
	must(r, err)
	for _, event := range events {
		types = append(types, event.Type)
	}

	if want := []string{"created", "claimed", "done"}; len(types) != len(want) {
		r.Errorf("task %s: events %v, want something like %v", id, types, want)
	}
	if found, err := r.store.Tasks.ByID(r.Context(), 0, number(r, id)); err != nil || found.State != lifecycle.TaskDone {
		r.Errorf("task %s: %s, %v", id, found.State, err)
	}
}

// number reads an id.
func number(t testing.TB, id string) (n int64) {
	t.Helper()
	_, err := fmt.Sscan(id, &n)
	must(t, err)
	return n
}
