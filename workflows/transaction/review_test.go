package transaction_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
)

// paysBehind makes someone else with the wallet's key pay, so that the record lacks a payment.
func (w *rig) paysBehind() {
	w.Helper()
	state, err := w.toncenter.Wallet(w.Context(), w.wallet.Address())
	w.must(err)
	head, err := w.toncenter.Head(w.Context())
	w.must(err)
	shop, _, err := ton.ParseAddress(w.chain.Shop())
	w.must(err)
	signed, err := w.wallet.Sign(state.Seqno, head.At.Add(time.Minute), ton.Payment{To: shop, Amount: 1_000_000})
	w.must(err)
	_, err = w.toncenter.Broadcast(w.Context(), signed.BoC)
	w.must(err)
}

// inReview makes an order that needs a review: it waits for the wallet while payments are paused, and the chain has a
// payment that the record lacks.
func (w *rig) inReview(comment string) (hash string) {
	w.Helper()
	w.must(w.client.Pause(w.Context(), w.admin, "a test"))
	hash = w.deposit(1, comment)
	wait.Eventually(w, "it waits to be paid", func() bool { return w.get(hash).WorkflowStartedAt != nil || w.get(hash).RefundDueNano > 0 })
	w.paysBehind()
	wait.Eventually(w, "a review is needed", func() bool { return w.get(hash).NeedsReview })
	return hash
}

// TestNightOwedInReview finds a payment missing from the record while money is owed: it waits for a person, and delays
// no other order.
func TestNightOwedInReview(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.Refund = true })
	ctx := t.Context()
	w.becomes(w.deposit(3, "durov 50"), lifecycle.TransactionProcessed)
	owed := w.inReview("no such order at all")
	w.must(w.client.Resume(ctx))
	w.becomes(w.deposit(1, "anna 50"), lifecycle.TransactionProcessed)
	if got := w.states(owed); got != "" {
		t.Errorf("given back before a review: %s", got)
	}

	_, err := w.client.Resolve(ctx, w.admin, owed, lifecycle.TransactionFailed, "", "it was for another one", "")
	w.must(err)
	wait.Eventually(w, "it is given back", func() bool { return strings.HasSuffix(w.states(owed), "refund paid") })
	_ = w.over(owed)
	w.wantNoDue(owed)
}

// TestNightReviewIsKept cancels, terminates and fails a transaction that needs review: only a person's decision ends
// the review.
func TestNightReviewIsKept(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.Refund = true })
	ctx := t.Context()
	w.becomes(w.deposit(3, "durov 50"), lifecycle.TransactionProcessed)
	hash := w.inReview("anna 50")
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(hash), ""))
	wait.Eventually(w, "it was cancelled", func() bool {
		return slices.ContainsFunc(w.history(hash), func(e *historypb.HistoryEvent) bool {
			return strings.Contains(e.String(), "CancelTransaction")
		})
	})

	// by a quote in progress, and by the reconciler
	for _, message := range []string{"Username not found", "terminated_by_operator"} {
		_, err := w.client.Fail(ctx, transaction.Claim{Hash: hash, Attempt: 1, TakenBy: w.get(hash).TakenBy}, stars.Named(message))
		w.must(err)
	}

	if got := w.get(hash); got.State != lifecycle.TransactionProcessing || !got.NeedsReview || got.RefundDueNano != 0 {
		t.Errorf("%+v", got)
	}

	got, err := w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionFailed, "", "it was for another one", "")
	w.must(err)
	if got.State != lifecycle.TransactionFailed || got.NeedsReview || got.ErrorClass != lifecycle.UnknownError {
		t.Errorf("%+v", got)
	}

	w.must(w.client.Resume(ctx))
	_, err = w.client.Retry(ctx, w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantBought(2)
}

// TestBouncedIsGivenBack resolves a purchase as failed whose money has come back, or comes back later: with the setting
// the payer is refunded, once.
func TestBouncedIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, before := range night.Cases(t, map[string]bool{"before": true, "after": false}, "after") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, func(s *setup) { s.settings.ConfirmPatience, s.settings.Refund = time.Second, true })
			ctx := t.Context()
			w.bounceTo(strings.Repeat("ab", 32))
			w.chain.AddFault(sim.Fault{Match: "ByMessage?direction=in", Kind: "503"})
			hash := w.deposit(1, "durov 50")
			wait.Eventually(w, "it needs review", func() bool { return w.get(hash).NeedsReview })
			if before {
				w.chain.ClearFaults()
				wait.Eventually(w, "the money is back", func() bool { return w.states(hash) == "purchase bounced" })
			}

			_, err := w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionFailed, "", "Fragment has not got it", "")
			w.must(err)
			if !before {
				_ = w.over(hash)
				w.wantNoDue(hash) // the money may be spent
				w.chain.ClearFaults()
				wait.Eventually(w, "it is owed", func() bool { return w.get(hash).RefundDueNano > 0 })
				reconciler := &reconcile.Reconciler{
					Temporal: w.server.Client, Store: w.store.Operations, Workloads: []service.Workload{w.client.Workload()},
					Log: slog.New(slog.DiscardHandler),
				}
				defer testtemporal.Repeat(t, reconciler.Reconcile)()
			}

			wait.Eventually(w, "it is given back", func() bool {
				p := w.payments(hash)
				return len(p) == 2 && p[1].Kind == transaction.Refund && p[1].KeptAt != nil
			})
			if p := w.payments(hash)[1]; p.AmountNano != 980_000_000 || p.Destination != w.get(hash).Sender {
				t.Errorf("%+v", p)
			}

			_ = w.over(hash)
			w.wantNoDue(hash)
			w.wantSold(0)
			w.balances()
		})
	}
}

// TestWriteOff cancels a refund that cannot be paid.
func TestWriteOff(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.Refund = true })
	ctx := t.Context()
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	hash := w.deposit(1, "no such order at all")
	wait.Eventually(w, "its refund waits for its turn", func() bool { return w.get(hash).RefundDueNano > 0 })
	_, err := w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionFailed, "", "", "")
	w.wantCode(err, fault.InvalidTransition) // it is no review

	for range 2 { // the second answer equals the first
		got, err := w.client.WriteOff(ctx, w.admin, hash, "the sender is a service's account", "key")
		w.must(err)
		if got.RefundDueNano != 0 || got.State != lifecycle.TransactionFailed {
			t.Errorf("%+v", got)
		}
	}

	if err := w.over(hash); err == nil {
		t.Error("it has still failed")
	}

	_, err = w.client.WriteOff(ctx, w.admin, hash, "", "")
	w.wantCode(err, fault.InvalidTransition)
	w.must(w.client.Resume(ctx))
	w.becomes(w.deposit(1, "anna 50"), lifecycle.TransactionProcessed)
	if got := w.states(hash); got != "" {
		t.Errorf("given back all the same: %s", got)
	}

	w.balances()
}

// wantBought requires this many purchases, whatever else was paid to the shop.
func (w *rig) wantBought(n int) {
	w.Helper()
	if bought, _ := w.sold(); len(bought) != n {
		w.Errorf("bought %+v, want %d", bought, n)
	}
}

// TestNightReviewIsAskedFor stops an order waiting for the wallet, and one whose payment is signed: the chain decides
// the latter, and neither continues before an operator decides.
func TestNightReviewIsAskedFor(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	waiting := w.deposit(1, "durov 50")
	wait.Eventually(w, "it waits", func() bool { return w.get(waiting).WorkflowStartedAt != nil })
	first, err := w.client.Review(ctx, w.admin, waiting, "is it right?", "key")
	w.must(err)
	again, err := w.client.Review(ctx, w.admin, waiting, "is it right?", "key")
	w.must(err)
	if !first.NeedsReview || first.ReviewReason != transaction.ReviewAsked || !again.UpdatedAt.Equal(first.UpdatedAt) {
		t.Errorf("%+v, then %+v", first, again)
	}
	_, err = w.client.Review(ctx, w.admin, waiting, "", "")
	w.wantCode(err, fault.InvalidTransition)

	w.must(w.client.Resume(ctx))
	w.must(w.chain.Hold())
	signed := w.deposit(1, "anna 50")
	w.signed(signed)
	_, err = w.client.Review(ctx, w.admin, signed, "", "")
	w.must(err)
	w.must(w.chain.Release())
	wait.Eventually(w, "it is paid", func() bool { return w.states(signed) == "purchase paid" })
	time.Sleep(time.Second)
	if got := w.get(waiting); got.State != lifecycle.TransactionProcessing || w.states(waiting) != "" {
		t.Errorf("%+v", got)
	}
	if got := w.get(signed); got.State != lifecycle.TransactionProcessing {
		t.Errorf("%+v", got)
	}

	for _, hash := range []string{waiting, signed} {
		_, err := w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionProcessing, "", "it goes on", "")
		w.must(err)
		w.becomes(hash, lifecycle.TransactionProcessed)
	}
	w.wantSold(2)
	w.balances()
}

// TestAReviewOfAFailedOrderIsResolved finds a lost payment while an order waits for its next attempt: the workflow does
// what the API offers, although it was not notified.
func TestAReviewOfAFailedOrderIsResolved(t *testing.T) {
	t.Parallel()
	w := newRig(t, retries(time.Hour, time.Hour))
	w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"})
	hash := w.deposit(1, "durov 50")
	w.becomes(hash, lifecycle.TransactionFailed)
	w.paysBehind()
	wait.Eventually(w, "a review is needed", func() bool { return w.get(hash).NeedsReview })

	got, err := w.client.Resolve(w.Context(), w.admin, hash, lifecycle.TransactionFailed, "", "it was for another one", "")
	w.must(err)
	if got.State != lifecycle.TransactionFailed || got.NeedsReview {
		t.Errorf("%+v", got)
	}
}

// TestAResetDecidesNothingAgain resets the workflow of an order whose first review was resolved, and which is in its
// second one: the answer to the first does not end the second.
func TestAResetDecidesNothingAgain(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it waits", func() bool { return w.get(hash).WorkflowStartedAt != nil })
	for range 2 {
		_, err := w.client.Review(ctx, w.admin, hash, "", "")
		w.must(err)
		_, err = w.client.Resolve(ctx, w.admin, hash, lifecycle.TransactionProcessing, "", "", "")
		w.must(err)
	}
	_, err := w.client.Review(ctx, w.admin, hash, "", "")
	w.must(err)

	_, err = w.server.Client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.server.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: lifecycle.TransactionID(hash)},
		Reason: "by hand", WorkflowTaskFinishEventId: 4, RequestId: hash,
	})
	w.must(err)
	w.must(w.client.Resume(ctx))
	w.becomes(w.deposit(1, "anna 50"), lifecycle.TransactionProcessed)
	if got := w.get(hash); !got.NeedsReview || w.states(hash) != "" {
		t.Errorf("%s; %+v", w.states(hash), got)
	}
}
