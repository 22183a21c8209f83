package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// shown queries the state of a job's workflow.
func (s *rig) shown(job delivery.Job) (view lifecycle.DeliveryView) {
	s.Helper()
	// on a busy machine a query may time out
	wait.Eventually(s, "the workflow answers", func() bool {
		answer, err := s.client.QueryWorkflow(s.Context(), job.WorkflowID(), "", lifecycle.StateQuery)
		return err == nil && answer.Get(&view) == nil
	})
	return view
}

// TestNightFailedAttempt fails an attempt that has streamed for seconds and is retried after minutes. Record, workflow,
// API and details immediately report which attempt is next, why, when, and until when.
func TestNightFailedAttempt(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(
		t, map[string]string{"STAGECOACH_DELIVERY_CHUNK_TIMEOUT": "3s", "STAGECOACH_DELIVERY_RETRY_INTERVAL": "10m"},
	)

	s.startWorker()
	s.startAPI()
	_, token := s.apiUser("Ann", 100)
	s.telegram.SendMessage(100, "hello")
	s.file("big.bin", 32<<20)
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "stall", AfterBytes: 1 << 20, Times: 1})
	made := s.call(
		"POST", "/v1/deliveries", token, map[string]any{"file_id": s.listedFile(token, "big.bin")}, "Idempotency-Key", "k",
	).want(t, 201)

	path := "/v1/deliveries/" + made["id"].(string)
	if made["deadline_at"] == nil || made["next_attempt_at"] != nil {
		t.Errorf("at first the API says %v", made)
	}

	job := s.jobOf(made["id"].(string))
	wait.Eventually(
		s, "the workflow shows the stream",
		func() bool { return s.shown(job).State == string(lifecycle.DeliveryStreaming) },
	)
	if deadline := s.shown(job).DeadlineAt; deadline == nil {
		t.Error("a stream has no deadline")
	}

	wait.Eventually(s, "the attempt has failed", func() bool { return s.reload(job).Attempt == 1 })
	wait.Eventually(
		s, "the workflow shows that it waits again",
		func() bool { return s.shown(job).State == string(lifecycle.DeliveryQueued) },
	)

	view, job := s.shown(job), s.reload(job)
	if view.Attempt != 1 || view.LastError != fault.TelegramUnavailable || view.NextAttemptAt == nil || view.DeadlineAt == nil {
		t.Errorf("the workflow shows %+v", view)
	}
	if job.NextAttemptAt == nil || time.Until(*job.NextAttemptAt) < 30*time.Second || !job.NextAttemptAt.Equal(*view.NextAttemptAt) {
		t.Errorf("the next attempt begins at %v, the workflow shows %v", job.NextAttemptAt, view.NextAttemptAt)
	}

	got := s.call("GET", path, token, nil).want(t, 200)
	for name, want := range map[string]any{"state": "QUEUED", "attempt": 1.0, "last_error": string(fault.TelegramUnavailable)} {
		if got[name] != want {
			t.Errorf("the API says that %s is %v, want %v", name, got[name], want)
		}
	}

	if got["next_attempt_at"] == nil || got["deadline_at"] == nil {
		t.Errorf("the API names neither the next attempt nor the end: %v", got)
	}

	details := s.temporalCLI("workflow", "metadata", "--workflow-id", job.WorkflowID())
	for _, want := range []string{"QUEUED", "attempt 2 of 3", string(fault.TelegramUnavailable), "The next attempt begins at", "Its time ends at"} {
		if !strings.Contains(details, want) {
			t.Errorf("the details lack %q: %s", want, details)
		}
	}

	if got := s.listed(`WorkflowType="Delivery" AND Stage="STREAMING"`); len(got) != 0 {
		t.Errorf("operators find it streaming: %v", got)
	}
}

// jobOf returns the job with the API's id.
func (s *rig) jobOf(id string) delivery.Job {
	s.Helper()
	var number int64
	_, err := fmt.Sscan(id, &number)
	must(s, err)
	job, err := s.store.Deliveries.ByID(s.Context(), number)
	must(s, err)
	return job
}

// TestNightLoss freezes a worker mid-stream while the only other one is busy. The record keeps the last state, and the
// API reports that the job waits for its next attempt, which records the loss; the attempt is counted once, and the
// frozen worker changes nothing when it continues.
func TestNightLoss(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_PARALLEL": "1"})
	s.startWorker()
	s.startAPI()
	s.slow(256 << 10)
	busyFile, busySum := s.file("busy.bin", 24<<20) // a minute and a half
	busy := s.deliver(s.user(101), busyFile)
	s.inState(busy, lifecycle.DeliveryStreaming)
	frozen := s.startWorker()
	file, sum := s.file("big.bin", 24<<20)
	job := s.deliver(s.user(100), file)
	s.inState(job, lifecycle.DeliveryStreaming)

	must(t, frozen.Process.Signal(syscall.SIGSTOP))
	path := fmt.Sprint("/v1/deliveries/", job.ID)
	wait.Eventually(s, "the API says what it waits for", func() bool {
		return s.call("GET", path, adminToken, nil).body["waits_for"] == "next_attempt"
	})
	if got := s.reload(job); got.State != lifecycle.DeliveryStreaming || s.reload(busy).State != lifecycle.DeliveryStreaming {
		t.Fatalf("the record says %+v", got)
	}

	s.telegram.ClearFaults()
	wait.Eventually(s, "the next attempt writes the loss", func() bool { return s.reload(job).Attempt == 1 })
	must(t, frozen.Process.Signal(syscall.SIGCONT))
	job = s.ended(job)
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	if job.Attempt != 1 {
		t.Errorf("attempt %d: the lost one counts once", job.Attempt)
	}

	s.wantDocument(100, sum)
	s.wantState(s.ended(busy), lifecycle.DeliveryDelivered, "")
	s.wantDocument(101, busySum)
}

// deliverActivity is the id of the activity that a running delivery waits for.
func (s *rig) deliverActivity(job delivery.Job) string {
	s.Helper()
	var described struct {
		PendingActivities []struct{ ActivityID string } `json:"pendingActivities"`
	}

	must(
		s,
		json.Unmarshal(
			[]byte(s.temporalCLI("workflow", "describe", "--workflow-id", job.WorkflowID(), "--output", "json")), &described,
		),
	)

	if len(described.PendingActivities) != 1 {
		s.Fatalf("pending activities: %+v", described)
	}
	return described.PendingActivities[0].ActivityID
}

// TestNightOperatorPausesAndResets pauses, unpauses and resets a delivery mid-stream with the temporal CLI: none of
// these costs an attempt.
func TestNightOperatorPausesAndResets(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, nil)
	s.startWorker()
	job, sum := s.streaming(24, 1)
	id := s.deliverActivity(job)

	s.temporalCLI("activity", "pause", "--workflow-id", job.WorkflowID(), "--activity-id", id)
	s.inState(job, lifecycle.DeliveryQueued)
	if got := s.reload(job); got.Attempt != 0 || got.LastError != string(fault.PausedByOperator) {
		t.Errorf("paused: attempt %d, %s", got.Attempt, got.LastError)
	}

	wait.Eventually(s, "the workflow says why it waits", func() bool {
		view := s.shown(job)
		return view.State == string(lifecycle.DeliveryQueued) && strings.Contains(
			view.WaitsFor, "operator",
		) && view.Attempt == 0
	})

	time.Sleep(3 * time.Second)
	if got := s.reload(job); got.State != lifecycle.DeliveryQueued {
		t.Errorf("a paused job is %s", got.State)
	}

	s.temporalCLI("activity", "unpause", "--workflow-id", job.WorkflowID(), "--activity-id", id)
	s.inState(job, lifecycle.DeliveryStreaming)
	claim, id := s.reload(job).Claim, s.deliverActivity(job) // of another execution
	s.temporalCLI("activity", "reset", "--workflow-id", job.WorkflowID(), "--activity-id", id)
	wait.Eventually(s, "another attempt has begun", func() bool {
		got := s.reload(job)
		return got.Claim > claim && got.State == lifecycle.DeliveryStreaming
	})
	if got := s.reload(job); got.Attempt != 0 || got.LastError != "" {
		t.Errorf("reset: attempt %d, %s", got.Attempt, got.LastError)
	}

	s.telegram.ClearFaults()
	job = s.ended(job)
	s.wantState(job, lifecycle.DeliveryDelivered, "")
	if job.Attempt != 0 {
		t.Errorf("attempt %d: an operator costs none", job.Attempt)
	}

	s.wantDocument(100, sum)
}
