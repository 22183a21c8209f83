package e2e

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

// temporalCLI runs the real temporal binary against the rig's server. It runs it again when the server answers that the
// workflow is busy, which has changed nothing.
func (s *rig) temporalCLI(args ...string) string {
	s.Helper()
	args = append(
		args, "--address", s.temporal.Address, "--namespace", s.env["TEMPORAL_NAMESPACE"], "--command-timeout", "1m",
	)

	for tries := 1; ; tries++ {
		out, err := exec.Command(s.temporal.Binary, args...).CombinedOutput()
		switch {
		case err == nil:
			return string(out)
		case tries == 20 || !strings.Contains(string(out), "Workflow is busy"):
			s.Fatalf("temporal %v: %v\n%s", args, err, out)
		}
		time.Sleep(time.Second)
	}
}

// listed returns the workflow ids of an operator's query.
func (s *rig) listed(query string) []string {
	s.Helper()
	var rows []struct {
		Execution struct{ WorkflowID string } `json:"execution"`
	}
	must(s, json.Unmarshal([]byte(s.temporalCLI("workflow", "list", "--query", query, "--output", "json")), &rows))
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.Execution.WorkflowID)
	}
	return ids
}

// TestOperator finds, reads, cancels and terminates jobs with the temporal CLI alone.
func TestOperator(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_PARALLEL": "2"})
	s.startWorker()
	user := s.user(100)
	file, _ := s.file("big.bin", 24<<20)
	s.slow(512 << 10)
	cancelled, terminated := s.deliver(user, file), s.deliver(user, file)
	s.inState(cancelled, lifecycle.DeliveryStreaming)
	s.inState(terminated, lifecycle.DeliveryStreaming)

	query := `WorkflowType="Delivery" AND Stage="STREAMING" AND ExecutionStatus="Running"`
	s.eventually(30*time.Second, "both jobs are found by their stage", func() bool { return len(s.listed(query)) == 2 })
	if got := s.temporalCLI("workflow", "query", "--workflow-id", cancelled.WorkflowID(), "--type", "state"); !strings.Contains(got, "STREAMING") {
		t.Errorf("the state query says %s", got)
	}

	described := s.temporalCLI("workflow", "describe", "--workflow-id", cancelled.WorkflowID())
	if !strings.Contains(described, "Delivery "+strconv.FormatInt(cancelled.ID, 10)) || !strings.Contains(described, `"stage":"STREAMING"`) {
		t.Errorf("describe says %s", described)
	}
	if got := s.temporalCLI("workflow", "metadata", "--workflow-id", cancelled.WorkflowID()); !strings.Contains(got, "Waits for Telegram") {
		t.Errorf("the current details are %s", got)
	}

	s.temporalCLI("workflow", "cancel", "--workflow-id", cancelled.WorkflowID())
	s.wantState(s.ended(cancelled, 15*time.Second), lifecycle.DeliveryCancelled, string(fault.CancelledByUser))

	s.temporalCLI("workflow", "terminate", "--workflow-id", terminated.WorkflowID(), "--reason", "test")
	s.wantState(s.ended(terminated, time.Minute), lifecycle.DeliveryFailed, string(fault.TerminatedByOperator))
	if n := len(s.documents(100)); n != 0 {
		t.Errorf("the chat has %d documents", n)
	}

	s.eventually(30*time.Second, "no job streams any more", func() bool { return len(s.listed(query)) == 0 })
	if got := s.listed(`WorkflowType="Delivery" AND Stage="CANCELLED"`); len(got) != 1 || got[0] != cancelled.WorkflowID() {
		t.Errorf("cancelled jobs: %v", got)
	}
}

// TestNeverStarted leaves a row whose workflow was never started: the reconciler starts it.
func TestNeverStarted(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(t, nil)
	user := s.user(100)
	file, sum := s.file("lost.bin", 1000)
	job, _, err := s.store.CreateJob(t.Context(), delivery.Job{
		IdempotencyKey: strings.Repeat("ab", 32), UserID: user.ID, FileID: file.ID, FileName: file.Name, Size: file.Size,
		Source: delivery.SourceAPI,
	}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})

	must(t, err)
	s.startWorker()
	s.wantState(s.ended(job, time.Minute), lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
}
