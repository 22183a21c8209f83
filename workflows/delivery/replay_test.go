package delivery

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestReplay replays every saved history: what runs in the wild must go on under this code.
func TestReplay(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Glob("testdata/*.json")
	if err != nil || len(histories) == 0 {
		t.Fatalf("no saved histories: %v", err)
	}
	for _, path := range histories {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions((&Workflow{Settings: settings}).Run, workflow.RegisterOptions{Name: WorkflowType})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet{}, path); err != nil {
				t.Error(err)
			}
		})
	}
}
