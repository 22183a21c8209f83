package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/internal/lifecycle"
)

// TestNightStopHandsOver stops a worker that streams two files, one too long to end in time and one that ends in time,
// while tasks are claimed. The first is handed over at once and costs no attempt, the second is finished, no claim is
// lost, and the process exits with 0.
func TestNightStopHandsOver(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(
		t,
		map[string]string{
			"STAGECOACH_BOT": "false", "STAGECOACH_WORKER_STOP_TIMEOUT": "10s", "STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT": "60s",
		},
	)

	worker := s.startWorker()
	s.startAPI()
	ann := s.member("Ann")
	space := ann.workspace(map[string]any{})
	var wanted []map[string]any
	for i := range 20 {
		wanted = append(wanted, map[string]any{"ref": fmt.Sprint(i), "title": "Claim me"})
	}

	tasks := ann.batch(space, wanted...)

	s.slow(1 << 20)
	long, longSum := s.file("long.bin", 60<<20)
	short, shortSum := s.file("short.bin", 4<<20)
	first := s.deliver(s.user(100), long)
	s.inState(first, lifecycle.DeliveryStreaming)
	second := s.deliver(s.user(101), short) // only now: it streams for seconds
	s.inState(second, lifecycle.DeliveryStreaming)

	claims := make(chan int, len(tasks))
	for _, id := range tasks {
		go func() { claims <- ann.does("claim", id, "", "Idempotency-Key", "claim-"+id).status }()
	}

	must(t, worker.Process.Signal(syscall.SIGTERM))
	told, took := time.Now(), make(chan time.Duration, 1)
	go func() { <-worker.Done(); took <- time.Since(told) }()
	s.telegram.ClearFaults()
	s.startWorker()

	for range tasks {
		if status := <-claims; status != http.StatusOK {
			t.Errorf("a claim got %d", status)
		}
	}

	s.wantState(s.ended(second), lifecycle.DeliveryDelivered, "")
	first = s.ended(first)
	s.wantState(first, lifecycle.DeliveryDelivered, "")
	if first.Attempt != 0 {
		t.Errorf("attempt %d: a worker's stop costs no try", first.Attempt)
	}

	want := []string{
		"enqueued", "claimed", "download_started", "streaming_started", "requeued", "claimed", "download_started",
		"streaming_started", "delivered",
	}
	if got := s.events(first); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}

	s.wantDocument(100, longSum)
	s.wantDocument(101, shortSum)
	t.Logf("the worker had ended %s after it was told to", (<-took).Round(100*time.Millisecond))
	if code := worker.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the worker ended with %d", code)
	}
}

// TestNightSecondSignal immediately ends a worker that would wait for a stream. Its work is lost as in a crash, and
// taken over.
func TestNightSecondSignal(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, map[string]string{"STAGECOACH_WORKER_STOP_TIMEOUT": "1h"})
	worker := s.startWorker()
	job, sum := s.streaming(20, 1)
	must(t, worker.Process.Signal(syscall.SIGTERM))
	time.Sleep(time.Second)
	if worker.ended() {
		t.Fatal("it does not wait for its stream")
	}

	must(t, worker.Process.Signal(syscall.SIGTERM))
	<-worker.Done()
	if code := worker.ProcessState.ExitCode(); code != 1 {
		t.Errorf("it ended with %d", code)
	}

	s.telegram.ClearFaults()
	s.startWorker()
	job = s.ended(job)
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	if job.Attempt != 1 {
		t.Errorf("attempt %d: the lost try counts once", job.Attempt)
	}
}
