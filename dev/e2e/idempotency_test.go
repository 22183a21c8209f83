package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stagecoach/dev/night"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// TestIdempotency draws random sequences of requests (new and repeated keys, one after another and in parallel) and of
// killed and restarted processes. Each key is one job, each job is at most one document, and every job ends.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, nil)
	s.startWorker()
	s.startAPI()
	_, token := s.apiUser("Ann", 100)
	user, err := s.store.UserByTelegram(t.Context(), 100)
	must(t, err)
	const shelf = 3
	var files []string

	for i := range shelf {
		name := fmt.Sprintf("file-%d.bin", i)
		s.file(name, 64<<10)
		files = append(files, s.listedFile(token, name))
	}

	round, restarts := 0, 0
	deadline := time.Now().Add(30 * time.Second)
	rapid.Check(t, func(r *rapid.T) {
		if time.Now().After(deadline) {
			return
		}

		round++
		jobs, made := map[string]string{}, map[string]int{} // by key
		var mu sync.Mutex
		ask := func(key, file string) {
			got := s.call("POST", "/v1/deliveries", token, map[string]any{"file_id": file}, "Idempotency-Key", key)
			if got.status == 0 || got.status == 503 {
				return // the API is unavailable: the request is repeated later
			}

			mu.Lock()
			defer mu.Unlock()

			id, _ := got.body["id"].(string)
			if got.status == 201 {
				made[key+file]++
			}

			if known := jobs[key+file]; id == "" || known != "" && known != id || made[key+file] > 1 {
				t.Errorf("key %s answered %d with job %q, known %q, made %d times", key, got.status, id, known, made[key+file])
			}

			jobs[key+file] = id
		}

		for range rapid.IntRange(2, 8).Draw(r, "steps") {
			key := fmt.Sprintf("round-%d-%d", round, rapid.IntRange(0, 3).Draw(r, "key"))
			file := rapid.SampledFrom(files).Draw(r, "file")
			switch rapid.IntRange(0, 11).Draw(r, "what") {
			case 0:
				restarts++
				s.worker.kill()
				s.startWorker()
			case 1:
				restarts++
				s.api.kill()
				s.startAPI()
			case 2, 3, 4:
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() { ask(key, file) })
				}
				all.Wait()
			default:
				ask(key, file)
			}
		}
	})

	s.eventually(90*time.Second, "every job ends", func() bool {
		live, err := s.store.Jobs(t.Context(), delivery.Filter{UserID: user.ID, Live: true, Limit: 1})
		return err == nil && len(live) == 0
	})
	all, err := s.store.Jobs(t.Context(), delivery.Filter{UserID: user.ID, Limit: 100000})
	must(t, err)
	delivered := map[int64]bool{}
	unknown := 0

	for _, job := range all {
		switch {
		case job.State == lifecycle.DeliveryDelivered && !delivered[*job.MessageID]:
			delivered[*job.MessageID] = true
		case job.State == lifecycle.DeliveryFailed && job.LastError == "outcome_unknown":
			unknown++ // killed between the last byte and the answer
		default:
			t.Errorf("job %d is %s %s with message %v", job.ID, job.State, job.LastError, job.MessageID)
		}
	}

	documents := len(s.documents(100))
	if documents < len(delivered) || documents > len(delivered)+unknown {
		t.Errorf("%d documents for %d delivered and %d unknown jobs", documents, len(delivered), unknown)
	}

	t.Logf("%d rounds, %d restarts, %d jobs: %d delivered, %d unknown", round, restarts, len(all), len(delivered), unknown)
}
