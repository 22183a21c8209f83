package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// TestRecordHistories saves the histories that the replay tests replay. It runs only on request. A saved history stands
// for workflows in production, and later code must still replay it: save new ones beside the old ones.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	s := newRig(t, map[string]string{"STAGECOACH_DELIVERY_TTL": "2s", "STAGECOACH_DELIVERY_PARALLEL": "2"})
	user := s.user(100)
	small, _ := s.file("small.bin", 1000)
	save := func(name string, job delivery.Job, state lifecycle.DeliveryState) {
		if got := s.ended(job, time.Minute); got.State != state {
			t.Fatalf("%s ended %s\n%s", name, got.State, s.temporalCLI("workflow", "show", "--workflow-id", job.WorkflowID()))
		}
		s.eventually(30*time.Second, "the workflow is over", func() bool {
			return len(s.listed(`WorkflowId="`+job.WorkflowID()+`" AND ExecutionStatus!="Running"`)) == 1
		})
		version.Save(t, historiesOf("delivery"), name, testtemporal.History(t, s.client, job.WorkflowID(), ""))
	}

	late := s.deliver(user, small)
	time.Sleep(3 * time.Second)
	s.startWorker()
	save("expired", late, lifecycle.DeliveryExpired)
	save("delivered", s.deliver(user, small), lifecycle.DeliveryDelivered)

	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "internal_error", Times: 2})
	save("delivered-after-retries", s.deliver(user, small), lifecycle.DeliveryDelivered)
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "blocked", Times: 1})
	save("failed", s.deliver(user, small), lifecycle.DeliveryFailed)
	s.telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "504", AfterBody: true, Times: 1})
	save("outcome-unknown", s.deliver(user, small), lifecycle.DeliveryFailed)

	s.slow(4 << 20)
	big, _ := s.file("big.bin", 16<<20)
	save("delivered-slowly", s.deliver(user, big), lifecycle.DeliveryDelivered)
	bigger, _ := s.file("bigger.bin", 32<<20)
	signalled := s.deliver(user, bigger)
	s.inState(signalled, lifecycle.DeliveryStreaming)
	_, err := s.deliveries.Cancel(t.Context(), user, signalled.ID)
	must(t, err)
	save("cancelled-by-signal", signalled, lifecycle.DeliveryCancelled)
	stopped := s.deliver(user, bigger)
	s.inState(stopped, lifecycle.DeliveryStreaming)
	s.temporalCLI("workflow", "cancel", "--workflow-id", stopped.WorkflowID())
	save("cancelled-by-operator", stopped, lifecycle.DeliveryCancelled)
}

// historiesOf is the folder of the saved histories of a package of workflows.
func historiesOf(workflows string) string {
	return filepath.Join("..", "..", "workflows", workflows, "testdata")
}
