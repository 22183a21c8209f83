package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
)

// soak is a service with its own PostgreSQL, and all its requests.
type soak struct {
	*restoreRig
	postgres *servers.Postgres
	space    string
	file     delivery.File
	sum      string

	deliveries []delivery.Job
	tasks      []string
	downloads  []download.Download
	wishes     []wish
	orders     []string

	made   map[string]*torrentsim.SeededTorrent // by infohash
	shared []*torrentsim.SeededTorrent          // of wishes; they will complete once qBittorrent has them

	restarts, faults map[string]int
	differences      int
}

// TestSoak requests deliveries, tasks, downloads, book searches, and purchases, for as long as STAGECOACH_SOAK says,
// while services and servers are killed and external systems fail. At the end the record, Temporal and the external
// systems agree about each of them.
func TestSoak(t *testing.T) {
	length := soakTime(t)
	s := newSoak(t)
	s.slowDownRecord()
	turns := []func(){s.deliver, s.task, s.download, s.find, s.order}
	for end, n := time.Now().Add(length), 0; time.Now().Before(end); n++ {
		turns[n%len(turns)]()
		if s.complete(false) && rand.IntN(2) == 0 {
			s.killBeforeRecord()
		}
		switch rand.IntN(8) {
		case 0:
			s.restart()
		case 1, 2:
			s.fail()
		}
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
	}

	s.calm()
	s.compare()
}

// soakTime is the duration of a soak. Without one the test is skipped.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(os.Getenv("STAGECOACH_SOAK"))
	if err != nil {
		t.Skip("STAGECOACH_SOAK says for how long, such as 15m")
	}
	return length
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{restarts: map[string]int{}, faults: map[string]int{}, made: map[string]*torrentsim.SeededTorrent{}}
	s.postgres = testdb.Own(t, servers.PostgresOptions{})
	s.restoreRig = newRestoreRigOn(t, s.postgres.URL, newStandInWithFiles(t), map[string]string{
		"STAGECOACH_LIBRARY_DIR": libraryFolder(t), "STAGECOACH_DOWNLOAD_NEXT_AFTER": "2s",
		"STAGECOACH_TX_DAILY_LIMIT": "0", "STAGECOACH_TX_REVIEW_DAILY": "0", // more orders than a shop has in a day
	})
	s.startTorznab()
	s.startOIDC()
	maps.Copy(s.env, s.ground.StandInSettings())
	s.startWorker()
	s.startAPI()
	s.ann = s.member("Ann")
	s.space = s.ann.workspace(map[string]any{})
	s.reader = s.library.reader()
	s.file, s.sum = s.library.file("soak.bin", 300_000)
	return s
}

func (s *soak) deliver() {
	s.Helper()
	user := s.user(int64(1000 + len(s.deliveries)))
	s.deliveries = append(s.deliveries, s.restoreRig.deliver(user, s.file))
}

// task is created, claimed and completed; a request without an answer is repeated with the same key.
func (s *soak) task() {
	s.Helper()
	var made answer
	key := nonce()
	wait.Eventually(s, "a task is created", func() bool {
		made = s.ann.asksForBatch(s.space, key, map[string]any{"ref": "x", "title": "Soak it"})
		return made.status == http.StatusCreated || made.status == http.StatusOK
	})

	id := made.ids()["x"]
	s.tasks = append(s.tasks, id)
	for _, step := range [][2]string{{"claim", ""}, {"status", "DONE"}} {
		key := nonce()
		wait.Eventually(s, "task "+id+": "+step[0], func() bool {
			return s.ann.does(step[0], id, step[1], "Idempotency-Key", "soak-"+key).status == http.StatusOK
		})
	}
}

func (s *soak) download() {
	s.Helper()
	n, reader := len(s.downloads), s.library.reader()
	made := s.seedless(fmt.Sprintf("soak-%d.epub", n), 1<<20)
	book, err := s.library.downloads.CreateBook(s.Context(), reader, fmt.Sprintf("Planted Axles %d", n/4), "Planted Author", "")
	must(s, err)
	job, _, err := s.library.downloads.Start(s.Context(), reader, downloads.Ask{
		BookID: book.ID, MediaType: download.MediaText, SourceURL: made.URL,
	})
	must(s, err)
	s.downloads = append(s.downloads, job)
	s.torrents.release(s.library, made)
}

func (s *soak) order() {
	s.Helper()
	s.orders = append(s.orders, s.pays(fmt.Sprintf("soaker%d 50", len(s.orders))))
}

// restart stops or kills a process or server, and starts it again; earlier requests continue meanwhile.
func (s *soak) restart() {
	s.Helper()
	what := []string{
		"worker killed", "worker stopped", "API killed", "PostgreSQL killed", "Temporal killed", "PostgreSQL stopped",
		"qBittorrent killed",
	}[rand.IntN(7)]

	s.restarts[what]++
	switch what {
	case "worker killed":
		s.worker.kill()
		s.startWorker()
	case "worker stopped":
		s.worker.stop()
		s.startWorker()
	case "API killed":
		s.api.kill()
		s.startAPI()
	case "PostgreSQL killed", "PostgreSQL stopped":
		if what == "PostgreSQL killed" {
			s.postgres.Kill()
		} else {
			must(s, s.postgres.Stop())
		}
		must(s, s.postgres.Restart(s.Context()))
		must(s, core.RetryWhileUnavailable(s.Context(), func() error { return s.store.Operations.Ping(s.Context()) }))
		time.Sleep(2 * time.Second) // pgxpool notices a dead connection after it has been idle for more than a second
	case "qBittorrent killed":
		s.qbittorrent.kill()
		time.Sleep(rand.N(time.Second))
		s.qbittorrent.restart(s)
	case "Temporal killed":
		s.temporal.Kill()
		must(s, s.temporal.Restart(s.Context()))
		wait.Eventually(s, "Temporal answers", func() bool {
			patience, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			_, err := s.client.DescribeWorkflowExecution(patience, lifecycle.DownloadSyncID, "")
			return err == nil
		})
	}

	s.awaitReady(s.apiURL)
}

// fail makes an external system fail a few times.
func (s *soak) fail() {
	s.Helper()
	choices := []struct {
		where string
		do    func()
	}{
		{"Telegram 500", func() { s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "500", Times: 1}) }},
		{"Telegram 429", func() { s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "429", Times: 2, RetryAfter: 1}) }},
		{"Telegram's answer lost", func() { s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "504", AfterBody: true, Times: 1}) }},
		{"storage 500", func() { s.yandex.AddFault(sim.Fault{Kind: "500", Times: 1}) }},
		{"Fragment 500", func() { s.fragment.AddFault(sim.Fault{Kind: "500", Times: 2}) }},
		{"indexer 500", func() { s.ground.Torznab.AddFault(sim.Fault{Match: "t=search", Kind: "500", Times: 1}) }},
		{"indexer busy", func() { s.ground.Torznab.AddFault(sim.Fault{Match: "t=search", Kind: "busy_answer", Times: 2}) }},
		{"indexer's answer cut", func() {
			s.ground.Torznab.AddFault(sim.Fault{Match: "t=search", Kind: "cut", AfterBytes: 100, Times: 1})
		}},
		{"indexer's file 500", func() { s.ground.Torznab.AddFault(sim.Fault{Match: "/download", Kind: "500", Times: 1}) }},
		{"qBittorrent 500", func() { s.qbittorrent.AddFault(sim.Fault{Match: "/torrents/", Kind: "500", Times: 3}) }},
		{"qBittorrent's answer lost", func() { s.qbittorrent.AddFault(sim.Fault{Match: "/torrents/add", Kind: "lost_answer", Times: 1}) }},
		{"library folder away", func() { s.withoutFolder(func() { time.Sleep(rand.N(1500 * time.Millisecond)) }) }},
		{"toncenter 500", func() { s.chain.AddFault(sim.Fault{Kind: "500", Times: 3}) }},
	}

	choice := choices[rand.IntN(len(choices))]
	s.faults[choice.where]++
	choice.do()
}

// calm waits until everything requested has ended.
func (s *soak) calm() {
	s.Helper()
	for _, standIn := range []interface{ ClearFaults() }{
		s.telegram, s.yandex, s.fragment, s.chain, s.ground.Torznab, s.qbittorrent,
	} {
		standIn.ClearFaults()
	}
	s.calmLibrary()

	for _, hash := range s.orders {
		s.orderIs(hash, "processed", func(o map[string]any) bool {
			if o["status"] == "failed" {
				s.call("POST", "/v1/transactions/"+hash+"/retry", adminToken, map[string]any{})
			}
			return o["status"] == "processed"
		})
	}
}

func (s *soak) differs(format string, args ...any) {
	s.Helper()
	s.differences++
	s.Errorf(format, args...)
}

// compare compares the record, Temporal and the external systems, and prints the figures.
func (s *soak) compare() {
	s.Helper()
	ends, took := map[lifecycle.DeliveryState]int{}, []time.Duration{}
	for i, job := range s.deliveries {
		job = s.ended(job)
		ends[job.State]++
		took = append(took, job.UpdatedAt.Sub(job.CreatedAt))
		documents := len(s.documents(int64(1000 + i)))
		unknown := job.LastError == string(fault.OutcomeUnknown)
		if job.State == lifecycle.DeliveryDelivered && documents != 1 || job.State != lifecycle.DeliveryDelivered && documents > 0 && !unknown || documents > 1 {
			s.differs("delivery %d is %s %q, and the chat has %d documents", job.ID, job.State, job.LastError, documents)
		}

		want := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
		if job.State != lifecycle.DeliveryDelivered {
			want = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
		}

		s.closes(job.WorkflowID(), want)
	}

	for _, id := range s.tasks {
		var types []string
		for _, item := range s.call("GET", "/v1/tasks/"+id+"/events", s.ann.token, nil).want(s, http.StatusOK)["items"].([]any) {
			types = append(types, item.(map[string]any)["type"].(string))
		}
		if status := s.ann.task(id)["status"]; status != "DONE" || !slices.Equal(types, []string{"created", "claimed", "status_changed"}) {
			s.differs("task %s is %v after %v", id, status, types)
		}
		s.closes("task/"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}

	s.compareLibrary()

	var list []transactions.FragmentPurchase
	for _, p := range s.bought() {
		list = append(
			list,
			transactions.FragmentPurchase{Username: p.Username, Stars: p.Stars, PaidNano: p.PaidNano, PaymentHash: p.Hash, At: p.At},
		)
	}

	if len(list) != len(s.orders) {
		s.differs("%d orders, and Fragment has sold %d times", len(s.orders), len(list))
	}

	for _, hash := range s.orders {
		s.closes("transaction/"+hash, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}

	wait.Eventually(s, "the record is up to date with the chain", func() bool {
		report, err := s.restoreRig.orders.Reconcile(s.Context(), list)
		if err == nil && report.Chain {
			for _, difference := range report.Differences {
				s.differs("%+v", difference)
			}
		}
		return err == nil && report.Chain
	})

	slices.Sort(took)
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(time.Millisecond)
	}

	s.Logf(
		"deliveries %d %v, tasks %d, downloads %d, purchases %d", len(s.deliveries), ends, len(s.tasks), len(s.downloads),
		len(s.orders),
	)
	s.Logf("restarts %v", s.restarts)
	s.Logf("faults %v", s.faults)
	s.Logf("a delivery takes p50 %s, p95 %s, p99 %s", at(.5), at(.95), at(.99))
	s.Logf("differences %d", s.differences)
}

// closes waits for the end of a workflow.
func (s *soak) closes(id string, want enumspb.WorkflowExecutionStatus) {
	s.Helper()
	got := enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	if !s.soon(func() bool {
		about, err := s.client.DescribeWorkflowExecution(s.Context(), id, "")
		got = about.GetWorkflowExecutionInfo().GetStatus()
		return err == nil && got != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}) || got != want {
		s.differs("%s is %s, want %s", id, got, want)
	}
}
