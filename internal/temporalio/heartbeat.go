package temporalio

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// HeartbeatEvery is the interval between two heartbeats of a waiting activity.
const HeartbeatEvery = 3 * time.Second

// SendHeartbeats sends heartbeats with these details until stop is called, so that Temporal soon notices a lost worker.
// A cancelled activity sends them too: it may still have work to finish.
func SendHeartbeats(ctx context.Context, details ...any) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(HeartbeatEvery)
		defer ticker.Stop()

		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, details...)
			}
		}
	}()

	return func() { close(done) }
}
