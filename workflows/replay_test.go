package workflows

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
	"stagecoach/workflows/transaction"
)

// wanted is what the saved histories of each type must together reach: every terminal state of an entity, and the
// additional ones listed here. "again" is a run that continues as new.
var wanted = map[string][]string{
	lifecycle.TaskType:         {"again"},
	lifecycle.DownloadType:     {"again"},
	lifecycle.DownloadSyncType: {"again"},
	lifecycle.TransactionType:  {"failed", "again"}, // an operator may cancel a failed one
	lifecycle.TonMonitorType:   {"again"},
	reconciler.WorkflowType:    {""}, // it shows no state
	reconciler.ComparisonType:  {""}, // it shows no state
	reconciler.MediaType:       {""}, // it shows no state
	retention.WorkflowType:     {""}, // it shows no state
	lifecycle.WebhookType:      {""}, // the same
}

func init() {
	for i, workload := range workloads.Workloads() {
		for _, state := range lifecycle.Workloads[i].Table.Plain().States {
			if state.Terminal {
				wanted[workload.WorkflowType()] = append(wanted[workload.WorkflowType()], state.State)
			}
		}
	}
}

// others are settings that no history was made with: none decides between commands.
var others = map[string]Settings{
	"with no settings": {Download: download.Settings{Grace: time.Hour}},
	"with the usual settings": {
		Delivery: delivery.Settings{
			TTL: time.Hour, JobTimeout: 15 * time.Minute, HeartbeatTimeout: 10 * time.Second, RetryInterval: 2 * time.Second,
		},
		Download:    download.Settings{Grace: time.Minute},
		Transaction: transaction.Settings{StuckAfter: 30 * time.Minute},
	},
}

// registered records what is registered.
type registered map[string]bool

func (t registered) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) { t[o.Name] = true }

// TestEverySavedHistory replays each history ever saved, of any version, as a worker would, and fails if a workflow has
// none that reaches one of its ends. It also fails for a file outside a workload's testdata, or one that is not a
// history.
func TestEverySavedHistory(t *testing.T) {
	t.Parallel()
	saved := regexp.MustCompile(`^[a-z]+/testdata/v\d+-[a-z0-9-]+\.json$`)
	reached := map[string]map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() || strings.HasSuffix(path, ".go"):
			return err
		case !saved.MatchString(path):
			t.Errorf("%s is replayed by nobody: histories are workload/testdata/v<number>-<name>.json", path)
			return nil
		}

		history, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}

		name, end := endOf(history)
		if reached[name] == nil {
			reached[name] = map[string]bool{}
		}

		reached[name][end] = true
		for name, settings := range others {
			t.Run(path+" "+name, func(t *testing.T) {
				replayer := newReplayer(t)
				Register(replayer, settings)
				history := proto.CloneOf(history) // a replay sets search attributes in its first event
				if err := replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history); err != nil {
					t.Error(err)
				}
			})
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	for name, ends := range wanted {
		for _, end := range ends {
			if !reached[name][end] {
				t.Errorf("no saved history of %s ends %q: record one with `make histories`", name, end)
			}
		}
	}

	known := registered{}
	Register(known, Settings{})
	if got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(wanted)); !slices.Equal(got, want) {
		t.Errorf("registered are %v, histories are wanted of %v", got, want)
	}
}

func read(path string) (*historypb.History, error) {
	file, err := os.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return client.HistoryFromJSON(file, client.HistoryJSONOptions{})
}

// endOf returns a history's type, and the last state that it showed to operators; "again" if it continued as new.
func endOf(history *historypb.History) (name, end string) {
	for _, event := range history.Events {
		if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			name = started.WorkflowType.Name
		}
		stage := event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()[temporalio.StageAttribute.GetName()]
		if stage != nil && converter.GetDefaultDataConverter().FromPayload(stage, &end) != nil {
			end = "a stage that cannot be read"
		}
	}

	if history.Events[len(history.Events)-1].EventType == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
		end = "again"
	}
	return name, end
}

// newReplayer makes a replayer that does not mistake a busy machine for a deadlock.
func newReplayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		t.Fatal(err)
	}
	return replayer
}
