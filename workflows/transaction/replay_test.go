package transaction

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestReplay replays every saved history: what runs in the wild must go on under this code. No setting is the one that the
// histories were made with, so none decides between commands.
func TestReplay(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Glob("testdata/*.json")
	if err != nil || len(histories) == 0 {
		t.Fatalf("no saved histories: %v", err)
	}
	for _, path := range histories {
		for name, s := range map[string]Settings{"usual": settings, "none": {}} {
			t.Run(filepath.Base(path)+" "+name, func(t *testing.T) {
				t.Parallel()
				replayer := worker.NewWorkflowReplayer()
				replayer.RegisterWorkflowWithOptions((&Workflow{Settings: s}).Run, workflow.RegisterOptions{Name: WorkflowType})
				replayer.RegisterWorkflowWithOptions(Monitor, workflow.RegisterOptions{Name: MonitorType})
				if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet{}, path); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
