package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	hooks "stagecoach/internal/store/webhook"
	webhookworkflow "stagecoach/workflows/webhook"
)

// TestSendsAll sends many events in a few activities, and requires an idle webhook to cost nothing.
func TestSendsAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stranger, err := r.store.Accounts.CreateUser(t.Context(), account.User{Status: account.UserActive}, "")
	r.must(err)
	made := r.hook()
	before := len(r.server.History(t, lifecycle.WebhookID(made.ID), ""))

	r.receiver.answers(func(http.ResponseWriter, *http.Request) bool { time.Sleep(5 * time.Millisecond); return true })
	r.stopSender() // each pause between two jobs would cost a rest
	r.jobs(r.owner, 100)
	r.jobs(stranger, 5)
	r.jobs(r.owner, 100)
	want := r.visible(made.ID)
	r.startSender(r.sender.SendWebhookEvents)
	r.sendsAll(made.ID)
	if got := r.receiver.ids(); !slices.Equal(got, want) {
		t.Fatalf("got %d messages, want %d, each once and in order:\n%v\n%v", len(got), len(want), got, want)
	}

	messages, _ := r.receiver.got()
	for _, m := range messages[1:] {
		var event lifecycle.Event
		if err := json.Unmarshal(m.Body.Data, &event); err != nil || m.Body.Type != "delivery.enqueued" || event.Workload != lifecycle.WorkloadDelivery || event.To != "QUEUED" || !event.CreatedAt.Equal(m.Body.Timestamp) {
			t.Fatalf("%s: %+v, %v", m.ID, event, err)
		}
	}

	history := r.server.History(t, lifecycle.WebhookID(made.ID), "")
	t.Logf("%d messages cost %d events of history", len(messages), len(history)-before)
	if len(history)-before > len(messages)/2 {
		t.Errorf("%d messages cost %d events of history", len(messages), len(history)-before)
	}

	text := ""
	for _, event := range history {
		text += event.String()
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			retries := scheduled.RetryPolicy
			if scheduled.ScheduleToCloseTimeout.AsDuration() != 3*24*time.Hour || retries.MaximumAttempts != 0 || retries.MaximumInterval.AsDuration() != time.Hour {
				t.Errorf("tried for %v: %v", scheduled.ScheduleToCloseTimeout, retries)
			}
		}
	}

	for _, secret := range []string{"hidden-path", "127.0.0.1:" + r.receiver.URL[len("http://127.0.0.1:"):], made.Secrets[0], "enqueued"} {
		if strings.Contains(text, secret) {
			t.Errorf("the history has %q", secret)
		}
	}

	about, err := r.server.Client.DescribeWorkflowExecution(t.Context(), lifecycle.WebhookID(made.ID), "")
	r.must(err)
	if len(about.PendingActivities) > 0 {
		t.Errorf("an idle webhook has %d activities", len(about.PendingActivities))
	}
}

// TestRepeatsInOrder makes the receiver reject in every way for a while: the first event is retried, and later ones
// wait.
func TestRepeatsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	r.receiver.refuses(http.StatusInternalServerError)
	r.jobs(r.owner, 3)
	failing := r.until(made.ID, "fails", func(w hooks.Webhook) bool { return w.FailingSince != nil })
	wantCode(t, failing, "", fault.WebhookRefused)
	_, tries := r.receiver.got()
	r.until(made.ID, "is repeated", func(hooks.Webhook) bool { _, now := r.receiver.got(); return now >= tries+2 })
	r.receiver.answers(nil)
	rested := r.sendsAll(made.ID)
	if rested.FailingSince != nil || rested.DeliveredAt == nil {
		t.Errorf("it fails still: %+v", rested)
	}
	if got, want := r.receiver.ids(), r.visible(made.ID); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPauses pauses a webhook by a 410, by a blocked owner, and by the owner, and resumes it from its position.
func TestPauses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	paused := func(w hooks.Webhook) bool { return w.State == lifecycle.WebhookPaused }
	resume := func() {
		t.Helper()
		_, err := r.webhooks.Resume(t.Context(), r.owner.ID, made.ID, nil)
		r.must(err)
	}

	r.receiver.refuses(http.StatusGone)
	r.jobs(r.owner, 1)
	wantCode(t, r.until(made.ID, "is paused by a 410", paused), fault.ReceiverGone, "")
	r.ends(made.ID)
	if due, err := r.store.Notices.Due(t.Context(), []string{lifecycle.WebhookEvents}, 10); err != nil || len(due) != 1 {
		t.Errorf("the owner has %d notices, %v", len(due), err)
	}

	r.receiver.answers(nil)
	r.exec(`UPDATE users SET status = 'BLOCKED' WHERE id = $1`, r.owner.ID)
	resume()
	wantCode(t, r.until(made.ID, "is paused with its owner", paused), fault.OwnerNotActive, "")
	r.ends(made.ID)
	if messages, _ := r.receiver.got(); len(messages) != 1 {
		t.Errorf("a blocked owner got %d messages", len(messages))
	}

	r.exec(`UPDATE users SET status = 'ACTIVE' WHERE id = $1`, r.owner.ID)
	resume()
	r.sendsAll(made.ID)
	_, err := r.webhooks.Pause(t.Context(), r.owner.ID, made.ID)
	r.must(err)
	r.ends(made.ID)
	r.jobs(r.owner, 2)
	resume()
	r.sendsAll(made.ID)
	if got, want := r.receiver.ids(), r.visible(made.ID); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOwnerActs lets the owner change what fails: none of it waits for the delay between two attempts.
func TestOwnerActs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	r.receiver.answers(func(w http.ResponseWriter, rq *http.Request) bool {
		if rq.URL.Path == "/other" {
			return true
		}
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})

	r.jobs(r.owner, 2)
	r.until(made.ID, "fails", func(w hooks.Webhook) bool { return w.FailingSince != nil })
	tested, err := r.webhooks.Test(t.Context(), r.owner.ID, made.ID)
	if err != nil || tested.Testing() || tested.TestError != fault.WebhookRefused {
		t.Errorf("tested: %+v, %v", tested, err)
	}

	other := r.receiver.URL + "/other"
	_, err = r.webhooks.Change(t.Context(), r.owner.ID, made.ID, hooks.Change{Address: &other})
	r.must(err)
	rested := r.sendsAll(made.ID)
	if got, want := r.receiver.ids(), r.visible(made.ID); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	rotated, err := r.webhooks.Rotate(t.Context(), r.owner.ID, made.ID, time.Hour)
	r.must(err)
	r.receiver.secret(rotated.Secrets...)
	if len(rotated.Secrets) != 2 {
		t.Fatalf("%d secrets sign", len(rotated.Secrets))
	}

	tested, err = r.webhooks.Test(t.Context(), r.owner.ID, made.ID)
	if err != nil || tested.Testing() || tested.TestError != "" {
		t.Errorf("tested: %+v, %v", tested, err)
	}

	messages, _ := r.receiver.got()
	if last := messages[len(messages)-1]; last.Body.Type != "webhook.test" || string(last.Body.Data) != "{}" {
		t.Errorf("the test event is %+v", last)
	}

	_, err = r.webhooks.Replay(t.Context(), r.owner.ID, made.ID, made.Cursor())
	r.must(err)
	again := r.until(
		made.ID, "replays",
		func(w hooks.Webhook) bool { return r.rests(w) && len(r.receiver.ids()) >= 2*len(r.visible(made.ID))+1 },
	)
	if got, want := len(r.receiver.ids()), 2*len(r.visible(made.ID))+1; got != want {
		t.Errorf("got %d messages, want %d: each twice, and a test event", got, want)
	}
	if again.Cursor().Before(rested.Cursor()) {
		t.Errorf("it is at %v, and was at %v", again.Cursor(), rested.Cursor())
	}

	r.must(r.webhooks.Remove(t.Context(), r.owner.ID, made.ID))
	r.ends(made.ID)
}

// TestReportsLostEvents deletes events before they are sent: the receiver is notified, then gets what is left.
func TestReportsLostEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	_, err := r.webhooks.Pause(t.Context(), r.owner.ID, made.ID)
	r.must(err)
	r.ends(made.ID)
	taken := len(r.receiver.ids())
	r.jobs(r.owner, 3)
	r.exec(
		`DELETE FROM events WHERE id = (SELECT id FROM events WHERE workload = 'delivery' ORDER BY id OFFSET 1 LIMIT 1)`,
	)
	_, err = r.webhooks.Resume(t.Context(), r.owner.ID, made.ID, nil)
	r.must(err)
	want := []string{"webhook.events_lost", "webhook.paused", "delivery.enqueued", "delivery.enqueued", "webhook.resumed"}
	r.until(made.ID, "sends what is left", func(w hooks.Webhook) bool {
		return r.rests(w) && len(r.receiver.ids()) >= taken+len(want)
	})

	messages, _ := r.receiver.got()
	var types []string
	for _, m := range messages[taken:] {
		types = append(types, m.Body.Type)
	}
	if !slices.Equal(types, want) {
		t.Errorf("got %v, want %v", types, want)
	}

	_, err = r.webhooks.Replay(t.Context(), r.owner.ID, made.ID, core.Cursor{})
	r.must(err)
	r.until(made.ID, "replays", func(w hooks.Webhook) bool {
		return r.rests(w) && len(r.receiver.ids()) >= len(messages)+len(r.visible(made.ID))
	})
	if again, _ := r.receiver.got(); slices.ContainsFunc(again[len(messages):], func(m message) bool { return m.Body.Type == "webhook.events_lost" }) {
		t.Error("it is told twice of one loss")
	}
}

// TestIsRestarted terminates one webhook's workflow, and removes another's row: a sweep of the reconciler repairs the
// first, a comparison the second.
func TestIsRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	terminated := r.hook()
	orphaned := r.hook(terminated.ID) // its creation is an event of both
	r.receiver.secret()               // each has its own
	r.exec(`DELETE FROM webhooks WHERE id = $1`, orphaned.ID)
	r.exec(`UPDATE webhooks SET created_at = now() - interval '1 minute'`)
	r.must(r.server.Client.TerminateWorkflow(t.Context(), lifecycle.WebhookID(terminated.ID), "", "by an operator"))
	sweeper := &reconcile.Reconciler{
		Temporal: r.server.Client, Store: r.store.Operations, Log: r.log,
		Webhooks: &reconcile.Webhooks{Temporal: r.server.Client, Store: r.store.Webhooks, Log: r.log, Signal: r.webhooks.Signal},
	}

	stop := testtemporal.Repeat(t, sweeper.Reconcile)
	defer stop()

	r.runs(terminated.ID, true)
	comparing := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	comparing.RegisterActivityWithOptions(sweeper.Webhooks.Compare, activity.RegisterOptions{Name: "compare"})
	_, err := comparing.ExecuteActivity("compare")
	r.must(err)
	r.ends(orphaned.ID)
	r.jobs(r.owner, 1)
	r.sendsAll(terminated.ID)
}

// TestKeepsItsPlaceInTheQueue lets a webhook wait while no sender is free, and signals be repeated: its activity is
// scheduled once and never cancelled, and the workflow is signalled once.
func TestKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	r.stopSender()

	count := func() (signals, cancels int) {
		for _, event := range r.server.History(t, lifecycle.WebhookID(made.ID), "") {
			if event.GetActivityTaskCancelRequestedEventAttributes() != nil {
				cancels++
			}
			if event.GetWorkflowExecutionSignaledEventAttributes() != nil {
				signals++
			}
		}
		return signals, cancels
	}

	rested, _ := count()
	r.jobs(r.owner, 1)
	signals, cancels := rested, 0
	r.until(made.ID, "is woken and signalled", func(w hooks.Webhook) bool {
		signals, cancels = count()
		return !w.Waiting && signals > rested
	})
	r.exec(`UPDATE webhooks SET woken_at = now() - interval '1 minute'`)

	const rounds = 5
	for range rounds {
		r.must(r.webhooks.RepeatSignals(t.Context()))
	}
	if s, c := count(); s != signals+1 || c > cancels {
		t.Errorf("%d signals and %d cancellations in %d rounds", s-signals, c-cancels, rounds)
	}
	r.startSender(r.sender.SendWebhookEvents)
	r.sendsAll(made.ID)
}

// TestGivesUp pauses an endpoint after the last attempt, and starts over if no attempt had been made. TestSendsAll
// checks for how long Temporal retries; the test environment gives up after a few attempts.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	tries, stops := 0, 0
	env.RegisterActivityWithOptions(func(context.Context, int64) (lifecycle.WebhookOutcome, error) {
		if tries++; tries > 10_000 {
			return lifecycle.WebhookOutcome{Ended: true}, nil // it would never give up
		}
		return lifecycle.WebhookOutcome{}, temporal.NewApplicationError("no", string(fault.WebhookRefused))
	}, activity.RegisterOptions{Name: "SendWebhookEvents"})
	env.RegisterActivityWithOptions(func(context.Context, int64) (bool, error) {
		stops++
		return stops == 2, nil // the first time no worker had served the queue
	}, activity.RegisterOptions{Name: "StopFailingWebhook"})

	env.SetTestTimeout(time.Minute)
	env.ExecuteWorkflow(webhookworkflow.Run, int64(1))
	if err := env.GetWorkflowError(); err != nil || stops != 2 {
		t.Fatalf("%d stops after %d tries, %v", stops, tries, err)
	}
}

// sendsAllOrPauses waits until a webhook has sent all and rests, or is paused.
func (r *rig) sendsAllOrPauses(id int64) hooks.Webhook {
	r.Helper()
	last := r.last(id)
	return r.until(id, "sends all or is paused", func(w hooks.Webhook) bool {
		return w.State == lifecycle.WebhookPaused || r.rests(w) && r.has(last)
	})
}

// TestSignalIsNotFailure signals a workflow with a failing receiver while a request is in flight, as the reconciler
// does when an earlier signal was late. Temporal does not retry what a signal cancelled, but three days have not
// passed: the webhook stays active, and gets the event.
func TestSignalIsNotFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	failing := r.failsUnderSignal(made.ID)
	wantCode(t, failing, "", fault.WebhookRefused)

	r.receiver.answers(nil)
	r.sendsAllOrPauses(made.ID)
	if got, want := r.receiver.ids(), r.visible(made.ID); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSignalBeforeTimeout signals a workflow whose sender was killed while the receiver was failing. Temporal does not
// retry the activity after its missed heartbeat, because it is cancelled: the next one begins, and no webhook is
// paused.
func TestSignalBeforeTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.hook()
	r.stopSender()
	begun := make(chan struct{})
	killed := r.startSender(func(ctx context.Context, id int64) (out lifecycle.WebhookOutcome, err error) {
		hook, err := r.store.Webhooks.Begin(ctx, id)
		if err == nil {
			_, err = r.store.Webhooks.Fail(ctx, id, hook.Claim, fault.WebhookUnreachable)
		}
		if err != nil {
			return out, err
		}
		close(begun)
		<-t.Context().Done() // it never reports again
		return out, t.Context().Err()
	})

	r.jobs(r.owner, 1)
	<-begun
	killed()
	r.must(r.webhooks.Signal(t.Context(), made.ID, lifecycle.WebhookAct))
	r.cancels(made.ID)
	r.startSender(r.sender.SendWebhookEvents)
	ended := r.sendsAllOrPauses(made.ID)
	wantCode(t, ended, "", "")
	if got, want := r.receiver.ids(), r.visible(made.ID); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCancelled ends when an operator cancels it.
func TestCancelled(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	env.RegisterActivityWithOptions(func(context.Context, int64) (lifecycle.WebhookOutcome, error) {
		return lifecycle.WebhookOutcome{Rests: true}, nil
	}, activity.RegisterOptions{Name: "SendWebhookEvents"})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(webhookworkflow.Run, int64(1))
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(errors.Unwrap(err)) && !temporal.IsCanceledError(err) {
		t.Errorf("it ends with %v", err)
	}
}

// TestRecordHistories saves the histories that are replayed: one sent, failed, was changed by its owner, paused and
// ended; one failed while it was signalled, and sent again.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	r := newRig(t)
	made := r.hook()
	r.jobs(r.owner, 2)
	r.sendsAll(made.ID)
	r.receiver.refuses(http.StatusInternalServerError)
	r.jobs(r.owner, 1)
	r.until(made.ID, "fails", func(w hooks.Webhook) bool { return w.FailingSince != nil })
	_, err := r.webhooks.Test(t.Context(), r.owner.ID, made.ID)
	r.must(err)
	r.receiver.refuses(http.StatusGone)
	r.until(made.ID, "is paused", func(w hooks.Webhook) bool { return w.State == lifecycle.WebhookPaused })
	r.ends(made.ID)
	version.Save(t, "", "sent-failed-and-paused", r.server.History(t, lifecycle.WebhookID(made.ID), ""))

	r.receiver.answers(nil)
	again := r.hook()
	r.failsUnderSignal(again.ID)
	r.receiver.answers(nil)
	r.sendsAll(again.ID)
	version.Save(t, "", "failed-under-a-signal", r.server.History(t, lifecycle.WebhookID(again.ID), ""))
}
