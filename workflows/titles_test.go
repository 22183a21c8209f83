package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	deliveryactivities "stagecoach/activities/delivery"
	downloadactivities "stagecoach/activities/download"
	taskactivities "stagecoach/activities/task"
	transactionactivities "stagecoach/activities/transaction"
	webhookactivities "stagecoach/activities/webhook"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
)

// titled is one workflow, with the input of its second run.
type titled struct {
	id    string
	input []any
	title string
}

var hash = strings.Repeat("9f2c", 16)

// titles has one entry for every workflow that is registered.
var titles = map[string]titled{
	lifecycle.DeliveryType: {"delivery/ab", []any{7}, "Delivery 7"},
	lifecycle.TaskType:     {"task/7", []any{7, nil}, "Task 7 of workspace 3"},
	lifecycle.DownloadType: {"download/1/2/audio", []any{
		7, &download.Carried{Status: lifecycle.DownloadDownloading},
	}, "Download 7: audio of book 2"},
	lifecycle.DownloadSyncType: {lifecycle.DownloadSyncID, nil, "Watches over all downloads"},
	lifecycle.TransactionType:  {"transaction/" + hash, []any{hash}, "Transaction 9f2c9f2c"},
	lifecycle.TonMonitorType:   {"ton-monitor/0:ab", []any{"0:ab"}, "Watches the wallet on the chain"},
	reconciler.WorkflowType:    {reconciler.ScheduleID, []any{time.Hour}, "Keeps the record and Temporal agreeing"},
	reconciler.ComparisonType:  {reconciler.ComparisonSchedule, nil, "Compares all live rows with all running workflows"},
	reconciler.MediaType:       {reconciler.MediaSchedule, nil, "Checks whether the files of all media are there"},
	lifecycle.WebhookType:      {"webhook/7", []any{7}, "Webhook 7"},
	retention.WorkflowType:     {retention.ScheduleID, []any{operations.Retention{}}, "Deletes old rows of the record"},
}

// TestTitlesSurviveContinueAsNew reads what the Web UI shows of each workflow while it waits: Temporal drops the static
// summary of a run that continues as new, so the details begin with it.
func TestTitlesSurviveContinueAsNew(t *testing.T) {
	t.Parallel()
	known := registered{}
	Register(known, Settings{})
	for name := range known {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, known := titles[name]
			if !known {
				t.Fatalf("%s has no title here", name)
			}
			if got := detailsWhileWaiting(t, name, want); strings.SplitN(got, "\n", 2)[0] != want.title {
				t.Errorf("the details begin %q, want %q", got, want.title)
			}
		})
	}
}

// detailsWhileWaiting runs a workflow whose activities take an hour, and returns its current details after a minute.
func detailsWhileWaiting(t *testing.T, name string, w titled) (details string) {
	t.Helper()
	env := testtemporal.Environment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: w.id})
	if err := env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(temporalio.WorkspaceAttribute.ValueSet("3"))); err != nil {
		t.Fatal(err)
	}

	Register(env, Settings{})

	for _, acts := range []any{
		&deliveryactivities.Activities{}, &taskactivities.Activities{}, &downloadactivities.Sync{}, &transactionactivities.Activities{},
		&transactionactivities.Monitor{},
		&reconcile.Reconciler{}, &reconcile.MediaSweep{}, &cleanup.OldRows{}, &webhookactivities.Activities{},
	} {
		env.RegisterActivity(acts)
	}

	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	began := time.Now()
	env.OnActivity("LoadTask", mock.Anything, mock.Anything).
		Return(task.Snapshot{State: lifecycle.TaskNew, Version: 1}, nil).Maybe()
	env.OnActivity("OpenTransaction", mock.Anything, mock.Anything).
		Return(
			transaction.Snapshot{State: lifecycle.TransactionFailed, ErrorClass: lifecycle.Retryable, Since: &began}, nil,
		).Maybe()

	env.OnActivity("Deliver", mock.Anything, mock.Anything).After(time.Hour).Return(deliveryactivities.Receipt{}, nil).Maybe()
	env.OnActivity("SyncDownloads", mock.Anything).After(time.Hour).Return(nil).Maybe()
	env.OnActivity("WatchWallet", mock.Anything, mock.Anything).After(time.Hour).Return(nil).Maybe()
	env.OnActivity("Compare", mock.Anything, mock.Anything).After(time.Hour).Return(reconcile.Compared{}, nil).Maybe()
	env.OnActivity("SweepMedia", mock.Anything).After(time.Hour).Return(nil).Maybe()
	env.OnActivity("Reconcile", mock.Anything, mock.Anything).After(time.Hour).Return(reconcile.Sweep{}, nil).Maybe()
	env.OnActivity("SendWebhookEvents", mock.Anything, mock.Anything).Return(lifecycle.WebhookOutcome{Rests: true}, nil).Maybe()
	env.OnActivity("DeleteOldRows", mock.Anything, mock.Anything).After(time.Hour).Return(map[string]int64{}, nil).Maybe()

	env.RegisterDelayedCallback(func() {
		answer, err := env.QueryWorkflow("__temporal_workflow_metadata")
		var metadata sdkpb.WorkflowMetadata
		if err == nil {
			err = answer.Get(&metadata)
		}
		if err != nil {
			t.Error(err)
		}
		details = metadata.CurrentDetails
		env.CancelWorkflow()
	}, time.Minute)

	env.ExecuteWorkflow(name, w.input...)
	return details
}
