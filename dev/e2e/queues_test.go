package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/internal/lifecycle"
)

// TestNightClaimsBesideFullSlots claims tasks on a worker whose delivery slots are all taken, with more deliveries
// waiting.
func TestNightClaimsBesideFullSlots(t *testing.T) {
	t.Parallel()
	night.Only(t)
	s := newRig(
		t,
		map[string]string{
			"STAGECOACH_BOT": "false", "STAGECOACH_DELIVERY_PARALLEL": "1",
		},
	)

	s.startWorker()
	s.startAPI()
	ann := s.member("Ann")
	space := ann.workspace(map[string]any{})
	first, _ := s.streaming(64, 1)
	file, _ := s.file("waits.bin", 1000)
	waiting := s.deliver(s.user(101), file)

	for i := range 30 {
		id := ann.batch(space, map[string]any{"ref": "it", "title": fmt.Sprint("Claim me, ", i)})["it"]
		ann.does("claim", id, "").want(t, http.StatusOK)
		ann.does("status", id, "DONE").want(t, http.StatusOK)
	}

	s.wantState(s.reload(first), lifecycle.DeliveryStreaming, "")
	s.wantState(s.reload(waiting), lifecycle.DeliveryQueued, "")
}
