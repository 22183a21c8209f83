package transaction_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// failedOnce makes a transaction that failed because of Fragment, which works again.
func (w *rig) failedOnce() string {
	w.Helper()
	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503"})
	hash := w.deposit(1, fmt.Sprint("durov ", 50+len(w.workflowIDs()))) // whose price was never queried
	w.becomes(hash, lifecycle.TransactionFailed)
	w.fragment.ClearFaults()
	return hash
}

// TestRetries retries a failed transaction in every way: the client, the update and the signal of the CLI, and the
// client when the workflow is gone.
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	for name, retry := range map[string]func(hash string) error{
		"client": func(hash string) error {
			first, err := w.client.Retry(ctx, w.admin, hash, "said by a person", "key"+hash)
			w.must(err)
			again, err := w.client.Retry(ctx, w.admin, hash, "said by a person", "key"+hash) // the same request
			w.must(err)
			w.keptOut(hash, "said by a person")
			if first.Attempt != 2 || again.Attempt != 2 || !first.UpdatedAt.Equal(again.UpdatedAt) {
				t.Errorf("%+v, then %+v", first, again)
			}
			return nil
		},
		"update": func(hash string) error {
			handle, err := w.server.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: lifecycle.TransactionID(hash), UpdateName: "retry",
				Args:         []any{lifecycle.TransactionInput{}},
				WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			w.must(err)
			return handle.Get(ctx, nil)
		},
		"signal": func(hash string) error {
			return w.server.Client.SignalWorkflow(
				ctx, lifecycle.TransactionID(hash), "", "retry", lifecycle.TransactionInput{Actor: w.admin.ID},
			)
		},
		"signal without a word": func(hash string) error {
			return w.server.Client.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", "retry", nil)
		},
		"terminated": func(hash string) error {
			w.must(w.server.Client.TerminateWorkflow(ctx, lifecycle.TransactionID(hash), "", "by hand"))
			_, err := w.client.Retry(ctx, w.admin, hash, "by hand", "")
			return err
		},
		"cancelled": func(hash string) error {
			w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(hash), ""))
			if err := w.over(hash); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v", err)
			}
			_, err := w.client.Retry(ctx, w.admin, hash, "by hand", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			hash := w.failedOnce()
			w.must(retry(hash))
			got := w.becomes(hash, lifecycle.TransactionProcessed)
			if got.Attempt != 2 {
				t.Errorf("attempt %d", got.Attempt)
			}
			w.must(w.over(hash))
			_, err := w.client.Retry(ctx, w.admin, hash, "", "") // it is bought
			w.wantCode(err, fault.InvalidTransition)
		})
	}

	w.wantSold(6)
	w.balances()
}

// TestAnswerIsStoredWithItsChange loses the caller right after the action: repeating the key returns what was done,
// whatever has happened since.
func TestAnswerIsStoredWithItsChange(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	hash := w.failedOnce()
	asked := transaction.TransactionAsked(w.admin.ID, "key", lifecycle.TransactionActionRetry, hash, "", "", "by hand")
	w.must(w.store.Answers.KeepContent(ctx, w.admin.ID, asked.ID(), "by hand"))
	_, err := w.server.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: lifecycle.TransactionID(hash), UpdateID: asked.ID(), UpdateName: "retry",
		Args:         []any{lifecycle.TransactionInput{Actor: w.admin.ID}},
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})

	w.must(err)
	done := w.becomes(hash, lifecycle.TransactionProcessed)
	for range 2 {
		got, err := w.client.Retry(ctx, w.admin, hash, "by hand", "key")
		w.must(err)
		if got.Attempt != 2 || got.State != lifecycle.TransactionProcessing || !got.UpdatedAt.Before(done.UpdatedAt) {
			t.Errorf("%+v", got)
		}
	}

	_, err = w.client.Retry(ctx, w.admin, hash, "something else", "key")
	w.wantCode(err, fault.Validation)
	_, err = w.client.Retry(ctx, w.admin, hash, "by hand", "another key")
	w.wantCode(err, fault.InvalidTransition)
	w.wantSold(1)
}

// keptOut requires a comment in the record, and not in the history.
func (w *rig) keptOut(hash, comment string) {
	w.Helper()
	ctx := w.Context()
	events, err := w.store.Transactions.EventsOf(ctx, hash)
	w.must(err)
	if !slices.ContainsFunc(events, func(e core.StreamedEvent) bool { return e.Comment == comment }) {
		w.Errorf("no event has the comment: %+v", events)
	}

	for pages := w.server.Client.GetWorkflowHistory(ctx, lifecycle.TransactionID(hash), "", false, 0); pages.HasNext(); {
		event, err := pages.Next()
		w.must(err)
		if strings.Contains(event.String(), comment) {
			w.Errorf("the history has the comment: %s", event)
		}
	}
}

// TestWhoMayRetry refuses callers who are not administrators, and malformed requests.
func TestWhoMayRetry(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	hash := w.failedOnce()
	somebody, err := w.store.Accounts.CreateUser(
		ctx, account.User{Name: "somebody", Role: account.RoleUser, Status: account.UserActive}, account.NewToken(),
	)

	w.must(err)
	_, err = w.client.Retry(ctx, somebody, hash, "", "")
	w.wantCode(err, fault.InsufficientAccess)
	_, err = w.client.Retry(ctx, account.User{ID: 987654}, hash, "", "")
	w.wantCode(err, fault.UserNotFound)
	_, err = w.client.Retry(ctx, w.admin, hash, strings.Repeat("x", 4001), "")
	w.wantCode(err, fault.Validation)
	_, err = w.client.Retry(ctx, w.admin, strings.Repeat("0", 64), "", "")
	w.wantCode(err, fault.TransactionNotFound)
	_, err = w.client.Resolve(ctx, w.admin, hash, "pending", "", "", "")
	w.wantCode(err, fault.Validation)
	_, err = w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionProcessed, "", "", "")
	w.wantCode(err, fault.InvalidTransition)
	w.must(w.server.Client.SignalWorkflow(
		ctx, lifecycle.TransactionID(hash), "", "retry", lifecycle.TransactionInput{Actor: somebody.ID},
	))
	w.must(w.server.Client.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", "retry", "nonsense"))
	time.Sleep(500 * time.Millisecond)
	if got := w.get(hash); got.State != lifecycle.TransactionFailed || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}

	_, err = w.client.Retry(ctx, w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
}

// TestReview pays for Stars that do not arrive: nothing is bought again, the next order is not delayed, and an operator
// decides.
func TestReview(t *testing.T) {
	t.Parallel()
	for _, outcome := range []lifecycle.TransactionState{lifecycle.TransactionProcessed, lifecycle.TransactionFailed} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			w := newRig(t, func(s *setup) {
				s.settings.ConfirmPatience = 2 * time.Second
				s.fragment.Settings.DoneAfterMS = 1000 * 3600
			})

			ctx := t.Context()
			hash := w.deposit(1, "durov 50")
			wait.Eventually(w, "it needs review", func() bool { return w.get(hash).NeedsReview })
			w.wantAlert(notice.AlertTransactionReview, true)
			if got := w.get(hash); got.State != lifecycle.TransactionProcessing || w.states(hash) != "purchase paid" {
				t.Errorf("%+v", got)
			}

			_, err := w.client.Retry(ctx, w.admin, hash, "", "")
			w.wantCode(err, fault.InvalidTransition)
			settings := w.fragment.CurrentSettings()
			settings.DoneAfterMS = 0
			w.must(w.fragment.Set(settings))
			w.becomes(w.deposit(1, "anna 50"), lifecycle.TransactionProcessed)

			w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(hash), "")) // changes nothing: the money is paid
			if outcome == lifecycle.TransactionFailed {
				w.must(w.server.Client.TerminateWorkflow(ctx, lifecycle.TransactionID(hash), "", "by hand")) // nor does this
			}

			got, err := w.client.Resolve(ctx, w.admin, hash, outcome, "", "reviewed", "")
			w.must(err)
			if got.State != outcome || got.NeedsReview || (outcome == lifecycle.TransactionProcessed) != (got.FragmentTransactionHash != "") {
				t.Errorf("%+v", got)
			}

			err = w.over(hash)
			if (err == nil) != (outcome == lifecycle.TransactionProcessed) {
				t.Error(err)
			}

			_, err = w.client.Retry(ctx, w.admin, hash, "", "")
			w.wantCode(err, fault.InvalidTransition)
			if got := w.states(hash); got != "purchase paid" {
				t.Error(got)
			}

			w.balances()
		})
	}
}

// TestPause signs nothing while payments are paused; what is signed is still proven.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.chain.Hold())
	signed := w.deposit(1, "anna 50")
	w.signed(signed)
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	waiting := w.deposit(1, "boris 50")
	w.must(w.chain.Release())
	w.becomes(signed, lifecycle.TransactionProcessed)
	wait.Eventually(w, "the other one is in line", func() bool { return w.inLine(waiting) })
	time.Sleep(500 * time.Millisecond)
	if got := w.states(waiting); got != "" {
		t.Error(got)
	}

	w.must(w.client.Resume(ctx))
	w.becomes(waiting, lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}

// TestCancel stops what waits, and proves what is signed.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.chain.Hold())
	signed := w.deposit(1, "anna 50")
	w.signed(signed)
	waiting := w.deposit(1, "boris 50")
	wait.Eventually(w, "the other one is in line", func() bool { return w.inLine(waiting) })
	for _, hash := range []string{signed, waiting} {
		wait.Eventually(w, "it is cancelled", func() bool { // a row is queued before its workflow has started
			return w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(hash), "") == nil
		})
	}

	w.fails(waiting, "Cancelled by operator", lifecycle.UnknownError)
	if err := w.over(waiting); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}

	w.must(w.chain.Release())
	w.becomes(signed, lifecycle.TransactionProcessed)
	w.must(w.over(signed))
	if w.inLine(waiting) {
		t.Error("it is still in line")
	}

	_, err := w.client.Retry(ctx, w.admin, waiting, "", "")
	w.must(err)
	w.becomes(waiting, lifecycle.TransactionProcessed)

	// Cancelled while the payment dies: it is not signed again.
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(1000)}))
	dying := w.deposit(1, "clara 50")
	w.signed(dying)
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(dying), ""))
	wait.Eventually(w, "an execution begins that signs nothing", func() bool {
		executions := 0
		for _, event := range w.history(dying) {
			if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Pay" {
				executions++
			}
		}
		return executions == 2
	})
	w.expire()
	w.fails(dying, "Cancelled by operator", lifecycle.UnknownError)
	if got := w.states(dying); got != "purchase dead" {
		t.Error(got)
	}

	w.wantSold(2)
	w.balances()
}

// TestNightStuck alerts administrators to a transaction that takes too long, and changes nothing. Paused time does not
// count.
func TestNightStuck(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.StuckAfter = time.Second })
	w.must(w.client.Pause(t.Context(), w.admin, "a test"))
	hash := w.deposit(1, "durov 50")
	time.Sleep(3 * time.Second)
	if got := w.get(hash); got.StuckAlertedAt != nil {
		t.Errorf("alerted in a pause: %+v", got)
	}

	w.must(w.chain.Hold())
	w.must(w.client.Resume(t.Context()))
	wait.Eventually(w, "it is stuck", func() bool { return w.get(hash).StuckAlertedAt != nil })
	w.wantAlert(notice.AlertTransactionStuck, true)
	wait.Eventually(w, "it shows", func() bool {
		found, err := w.server.Client.ListWorkflow(
			t.Context(), listOf(`WorkflowType = "Transaction" AND Stage = "processing" AND Attention = true`),
		)
		if err != nil {
			return false
		}
		for _, execution := range found.Executions {
			if execution.Execution.WorkflowId == lifecycle.TransactionID(hash) {
				return true
			}
		}
		return false
	})

	w.must(w.chain.Release())
	w.becomes(hash, lifecycle.TransactionProcessed)
	if !strings.Contains(w.events(hash), "stuck") {
		t.Error(w.events(hash))
	}
}

// TestRefunds refunds the money if the setting says so: once, less gas, and only for what can never be bought.
func TestRefunds(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.Refund = true })
	hash := w.deposit(1, "no such order at all")
	w.fails(hash, "Invalid comment format", lifecycle.NonRetryable)
	wait.Eventually(w, "it is given back", func() bool { p := w.payments(hash); return len(p) == 1 && p[0].KeptAt != nil })
	p := w.payments(hash)[0]
	if p.Kind != transaction.Refund || p.AmountNano != 980_000_000 || p.Destination != w.get(hash).Sender {
		t.Errorf("%+v", p)
	}
	if err := w.over(hash); err == nil {
		t.Error("a refunded order has still failed")
	}

	retryable := w.failedOnce()
	time.Sleep(500 * time.Millisecond)
	if got := w.states(retryable); got != "" {
		t.Error(got)
	}

	bounced := w.depositAs(tonsim.Deposit{
		From: "x", AmountNano: 1e9, Kind: "bounced", Comment: "nonsense again and again",
	})

	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)
	if w.get(bounced).Hash != "" {
		t.Error("a bounce is no order")
	}

	w.balances()

	// A lost refund is proven dead and made again, and pauses hold it as well.
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(1000)}))
	lost := w.depositAs(tonsim.Deposit{From: "another", AmountNano: 1e9, Comment: "no such order either"})
	wait.Eventually(w, "it is signed", func() bool { return w.states(lost) == "refund signed" })
	w.expire()
	wait.Eventually(w, "it is dead", func() bool { return strings.HasPrefix(w.states(lost), "refund dead") })
	w.must(w.client.Pause(t.Context(), w.admin, "a test"))
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(0)}))
	w.must(w.client.Resume(t.Context()))
	wait.Eventually(w, "it is given back", func() bool { return strings.HasSuffix(w.states(lost), "refund paid") })
	_ = w.over(lost)
	w.wantNoDue(lost)
	w.balances()

	// A refund that is returned to us is not an order to be refunded again.
	back := w.deposit(0.98, "Refund: the order could not be carried out")
	wait.Eventually(w, "a person is asked", func() bool { return w.get(back).NeedsReview })
	if got := w.states(back); got != "" {
		t.Error(got)
	}
}

func (w *rig) wantNoDue(hash string) {
	w.Helper()
	if due := w.get(hash).RefundDueNano; due != 0 {
		w.Errorf("%d nanoTON are still owed", due)
	}
}

// TestReconciler terminates workflows behind the record's back: signed payments are driven on, unsigned orders have
// failed, and unstarted workflows are started.
func TestReconciler(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.chain.Hold())
	signed := w.deposit(1, "anna 50")
	w.signed(signed)
	waiting := w.deposit(1, "boris 50")
	wait.Eventually(w, "the other one is in line", func() bool { return w.inLine(waiting) })
	for _, hash := range []string{signed, waiting} {
		wait.Eventually(w, "it is terminated", func() bool { // a row is queued before its workflow has started
			return w.server.Client.TerminateWorkflow(ctx, lifecycle.TransactionID(hash), "", "by hand") == nil
		})
	}

	w.must(w.server.Client.TerminateWorkflow(ctx, lifecycle.TonMonitorID(w.wallet.Address().Raw()), "", "by hand"))
	w.must(w.chain.Release())

	w.client.StuckAfter = time.Hour
	reconciler := &reconcile.Reconciler{
		Temporal: w.server.Client, Store: w.store.Operations, Workloads: []service.Workload{w.client.Workload()},
		Log: slog.New(slog.DiscardHandler),
	}

	stop := testtemporal.Repeat(t, reconciler.Reconcile)
	w.fails(waiting, "terminated_by_operator", lifecycle.UnknownError)
	w.becomes(signed, lifecycle.TransactionProcessed)
	stop()
	if got := w.states(signed); got != "purchase paid" {
		t.Error(got)
	}

	_, err := w.client.Retry(ctx, w.admin, waiting, "", "")
	w.must(err)
	w.becomes(waiting, lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}

// TestSecrets searches histories and logs for what they must not contain.
func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	hash := w.deposit(1, "planted_username 50")
	w.becomes(hash, lifecycle.TransactionProcessed)
	refused := w.deposit(1, "planted comment that is wrong")
	w.becomes(refused, lifecycle.TransactionFailed)
	sender := w.get(hash).Sender
	text := w.logs.String()

	for _, h := range []string{hash, refused} {
		for _, event := range w.history(h) {
			text += event.String()
		}
	}

	for _, secret := range []string{"planted", sender, sender[2:], w.payments(hash)[0].RequestID} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s", text[max(0, i-200):i+50])
		}
	}
}

func listOf(query string) *workflowservice.ListWorkflowExecutionsRequest {
	return &workflowservice.ListWorkflowExecutionsRequest{Query: query}
}
