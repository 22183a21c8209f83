package task_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"stagecoach/internal/store"
	"stagecoach/workflows/task"
)

// TestReplay replays every saved history: what runs in the wild must go on under this code. The histories were made in
// workspaces with deadlines of seconds; no setting is known here, so none decides between commands.
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
			replayer.RegisterWorkflowWithOptions(task.Run, workflow.RegisterOptions{Name: task.WorkflowType})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), path); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordHistories saves the histories that TestReplay replays. It runs only on request: a history once saved is
// what a workflow in the wild looks like, and later code must still replay it. Save new ones beside the old ones.
func TestRecordHistories(t *testing.T) {
	version := os.Getenv("STAGECOACH_RECORD") // part of the files' names, such as "v1"
	if version == "" {
		t.Skip("STAGECOACH_RECORD names the version to save")
	}
	dynamic = []string{"limit.historyCount.suggestContinueAsNew=60"}
	waits, release := true, 2.0/60
	w := newWorld(t, task.WorkspaceChange{
		StatusDeadlines:             map[store.TaskStatus]float64{store.TaskNew: 2.0 / 60, store.TaskInProgress: 1.0 / 60, store.TaskBlocked: 0},
		NewDeadlineWaitsForBlockers: &waits, StuckReleaseAfter: &release,
	})
	ctx, ann, bob := t.Context(), w.member(), w.member()
	save := func(name string, events []*historypb.HistoryEvent) {
		text, err := protojson.MarshalOptions{Indent: " "}.Marshal(&historypb.History{Events: events})
		w.must(err)
		text = regexp.MustCompile(`"identity":(\s*)"[^"]*"`).ReplaceAll(text, []byte(`"identity":$1"recorded"`))
		w.must(os.WriteFile(filepath.Join("testdata", version+"-"+name+".json"), text, 0o644))
	}
	over := func(t store.Task) []*historypb.HistoryEvent {
		w.must(w.client.GetWorkflow(ctx, t.WorkflowID(), "").Get(ctx, nil))
		return w.history(t)
	}
	status := func(t store.Task, by store.User, to store.TaskStatus) {
		_, err := w.tasks.Status(ctx, by, t.ID, to, "c", "")
		w.must(err)
	}
	claim := func(t store.Task) {
		_, err := w.tasks.Claim(ctx, ann, t.ID, "c", "")
		w.must(err)
	}
	inStatus := func(t store.Task, want store.TaskStatus) {
		w.eventually(10*time.Second, string(want), func() bool { return w.reload(t).Status == want })
	}

	blocker := w.task(nil)
	waiting := w.task(func(n *store.NewTask) { n.BlockedBy = []string{strconv.FormatInt(blocker.ID, 10)} })
	_, err := w.tasks.Claim(ctx, bob, waiting.ID, "too early", "")
	if err == nil {
		t.Fatal("claimed under an open blocker")
	}
	claim(blocker)
	_, err = w.tasks.Escalate(ctx, bob, blocker.ID, "c", "")
	w.must(err)
	status(blocker, ann, store.TaskInProgress)
	status(blocker, ann, store.TaskDone)
	save("escalated-done-and-told", over(blocker))

	inStatus(waiting, store.TaskStuck) // its clock has begun with the blocker's end
	inStatus(waiting, store.TaskNew)   // released
	claim(waiting)
	inStatus(waiting, store.TaskStuck)
	_, err = w.tasks.Takeover(ctx, bob, waiting.ID, "c", "")
	w.must(err)
	status(waiting, bob, store.TaskDone)
	save("waited-expired-released-taken-over", over(waiting))

	stopped := w.task(nil)
	claim(stopped)
	w.must(w.client.CancelWorkflow(ctx, stopped.WorkflowID(), ""))
	save("cancelled-by-operator", over(stopped))

	long := w.task(nil)
	claim(long)
	first := w.history(long)[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	for range 4 {
		status(long, ann, store.TaskBlocked)
		status(long, ann, store.TaskInProgress)
	}
	status(long, ann, store.TaskDone)
	second := over(long)
	save("after-continue-as-new", second)
	var events []*historypb.HistoryEvent
	pages := w.client.GetWorkflowHistory(ctx, long.WorkflowID(), first, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		event, err := pages.Next()
		w.must(err)
		events = append(events, event)
	}
	if last := events[len(events)-1].EventType; last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
		t.Errorf("the first run ended with %s", last)
	}
	save("before-continue-as-new", events)
}
