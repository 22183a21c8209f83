package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	downloadactivities "stagecoach/activities/download"
	taskactivities "stagecoach/activities/task"
	transactionactivities "stagecoach/activities/transaction"
	webhookactivities "stagecoach/activities/webhook"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
)

// wait is a waiting workflow, and the signal that it receives every five minutes.
type wait struct {
	input  []any
	signal string
	with   any
}

// waits has one entry for every workflow that may wait for a long time; each step of a transaction has its own test,
// TestEveryStepIsBounded.
var waits = map[string]map[string]wait{
	lifecycle.TaskType: {"for an agent": {[]any{7, nil}, lifecycle.TaskRefreshSignal, nil}},
	lifecycle.DownloadType: {
		"for qBittorrent": {[]any{7, &download.Carried{Status: lifecycle.DownloadDownloading}}, lifecycle.DownloadObservedSignal, lifecycle.Observation{JobID: 7}},
		"for the removal of the torrent": {
			[]any{7, &download.Carried{Status: lifecycle.DownloadDownloading, Canceled: fault.CancelledByUser}},
			lifecycle.CancelSignal, 7,
		},
	},
	lifecycle.TransactionType: {"for an operator": {[]any{hash, nil}, lifecycle.TransactionRefreshSignal, nil}},
	lifecycle.WebhookType:     {"for an event": {[]any{7}, lifecycle.WebhookWake, nil}},
}

// brief are the workflows that receive no signals while they wait, or end soon, with what bounds each history.
var brief = map[string]string{
	lifecycle.DeliveryType:     "its tries are counted and each has a deadline; a try shows three stages at most",
	lifecycle.DownloadSyncType: "one activity of an hour, whose tries add no events; it reads no signals",
	lifecycle.TonMonitorType:   "one activity of an hour, whose tries add no events; it reads no signals",
	reconciler.WorkflowType:    "an hour of activities, whose tries add no events; it reads no signals",
	reconciler.ComparisonType:  "one activity a workload, whose tries add no events; it reads no signals",
	reconciler.MediaType:       "one activity, whose tries add no events; it reads no signals",
	retention.WorkflowType:     "one activity, whose tries add no events; it reads no signals",
}

// TestEveryWaitIsBounded sends each waiting workflow what may arrive in a day: once its history is long it continues as
// new, with everything that the next run needs.
func TestEveryWaitIsBounded(t *testing.T) {
	t.Parallel()
	known := registered{}
	Register(known, Settings{})
	for name := range known {
		if _, ends := brief[name]; ends == (len(waits[name]) > 0) {
			t.Errorf("%s is in brief: %v, and has %d entries in waits: add it to one of them, to brief if its history is bounded", name, ends, len(waits[name]))
		}
	}

	for name, cases := range waits {
		for what, w := range cases {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				again := dayOf(t, name, w)
				if again == nil || again.WorkflowType.Name != name {
					t.Fatal("it does not continue as new")
				}
				if name == lifecycle.WebhookType {
					return // an endpoint's position is in the record
				}

				var first any
				var carried map[string]any
				if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &first, &carried); err != nil || len(carried) == 0 {
					t.Errorf("the next run gets %v and %v, %v", first, carried, err)
				}
				if given, ok := w.input[1].(*download.Carried); ok && given.Canceled != "" && carried["canceled"] != string(given.Canceled) {
					t.Errorf("the next run does not know of the cancel: %v", carried)
				}
			})
		}
	}
}

// dayOf runs a workflow through a day of signals; its history is long from the tenth on.
func dayOf(t *testing.T, name string, w wait) (again *workflow.ContinueAsNewError) {
	t.Helper()
	env := testtemporal.Environment()
	Register(env, Settings{Download: download.Settings{Grace: time.Minute}})
	for _, acts := range []any{&taskactivities.Activities{}, &downloadactivities.Activities{}, &transactionactivities.Activities{}, &reconcile.Reconciler{}, &webhookactivities.Activities{}} {
		env.RegisterActivity(acts)
	}
	env.OnActivity("SendWebhookEvents", mock.Anything, mock.Anything).Return(lifecycle.WebhookOutcome{Rests: true}, nil).Maybe()

	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	began := time.Now()
	env.OnActivity("LoadTask", mock.Anything, mock.Anything).
		Return(task.Snapshot{State: lifecycle.TaskNew, Version: 1}, nil).Maybe()

	for _, read := range []string{"OpenTransaction", "LookAtTransaction"} {
		env.OnActivity(read, mock.Anything, mock.Anything).
			Return(
				transaction.Snapshot{State: lifecycle.TransactionFailed, ErrorClass: lifecycle.UnknownError, Since: &began}, nil,
			).Maybe()
	}

	env.OnActivity("RemoveTorrent", mock.Anything, mock.Anything).After(25*time.Hour).
		Return(lifecycle.DownloadRecord{Status: lifecycle.DownloadCanceled}, nil).Maybe()
	// workers are lost: the hour never ends
	env.OnActivity("Reconcile", mock.Anything).After(100 * time.Hour).Return(nil).Maybe()

	for n := range 24 * 12 {
		env.RegisterDelayedCallback(func() {
			env.SetContinueAsNewSuggested(n > 10)
			env.SignalWorkflow(w.signal, w.with)
		}, time.Duration(n+1)*5*time.Minute)
	}

	late := false
	env.RegisterDelayedCallback(func() { late = true }, 99*time.Hour)
	env.ExecuteWorkflow(name, w.input...)
	if late {
		t.Error("the activity's end was waited for")
	}

	again, _ = errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	return again
}
