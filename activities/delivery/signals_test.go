package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
)

// deafTemporal accepts no signal while it is unavailable.
type deafTemporal struct {
	Temporal
	away  bool
	taken []string
}

func (d *deafTemporal) SignalWorkflow(_ context.Context, _, _, name string, _ any) error {
	if d.away {
		return errors.New("away")
	}
	d.taken = append(d.taken, name)
	return nil
}

// TestStageIsRepeatedUntilItIsTaken notifies a workflow of one state while Temporal is unavailable, and again once it
// is back: it gets the signal once.
func TestStageIsRepeatedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	temporal := &deafTemporal{away: true}
	a := &attempt{
		Activities: &Activities{Temporal: temporal, Log: slog.New(slog.DiscardHandler)},
		record:     delivery.Job{State: lifecycle.DeliveryStreaming},
	}

	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		a.notifyState(ctx, lifecycle.DeliveryStreaming)
		temporal.away = false
		for range 3 {
			a.notifyState(ctx, lifecycle.DeliveryStreaming)
		}
		return nil
	}, activity.RegisterOptions{Name: "notify"})

	if _, err := env.ExecuteActivity("notify"); err != nil {
		t.Fatal(err)
	}
	if want := []string{lifecycle.DeliveryStageSignal}; !slices.Equal(temporal.taken, want) {
		t.Errorf("the workflow got %q, want %q", temporal.taken, want)
	}
}
