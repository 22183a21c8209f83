package transaction

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

var settings = Settings{
	Attempts: 3, RetryInterval: 30 * time.Second, RebroadcastEvery: 15 * time.Second,
	StuckAfter: 30 * time.Minute,
}

var hash = strings.Repeat("ab", 32)

// book is a record of one transaction, as far as its workflow can see.
type book struct {
	*testsuite.TestWorkflowEnvironment
	at        activities.Snapshot
	taken     bool     // others have the turn
	messages  []string // of failures
	failedAt  time.Time
	retryIn   []time.Duration // after each failure; none left: an operator is asked
	reasons   []string        // of reviews
	attention []bool
	stages    []string

	quote   func() (activities.Snapshot, error)
	pay     func(activities.Order) (activities.Payment, error)
	confirm func() (activities.Snapshot, error)

	mu    sync.Mutex // a worker may do several activities at once
	calls []string
}

func (b *book) did(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, what)
}

func (b *book) done() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, " ")
}

// newBook gives an environment with skipped time and activities that keep to a pending transaction.
func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{TestWorkflowEnvironment: testtemporal.Environment()}
	b.at = activities.Snapshot{
		Snapshot: transaction.Snapshot{State: lifecycle.TransactionPending}, Again: true,
	}

	b.RegisterWorkflowWithOptions(
		(&Workflow{Settings: settings}).Run, workflow.RegisterOptions{Name: lifecycle.TransactionType},
	)
	b.RegisterActivity(&activities.Activities{})
	b.RegisterActivity(&activities.PaymentActivities{})
	b.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		attributes := args.Get(0).(temporal.SearchAttributes)
		if stage, ok := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword("Stage")); ok {
			b.stages = append(b.stages, stage)
		}
		if attention, ok := attributes.GetBool(temporalio.AttentionAttribute); ok { // true: the environment tells of no other
			b.attention = append(b.attention, attention)
		}
	}).Return(nil).Maybe()

	answer := func(what string, change func()) func(context.Context, string) (activities.Snapshot, error) {
		return func(context.Context, string) (activities.Snapshot, error) {
			b.did(what)
			change()
			return b.at, nil
		}
	}

	b.OnActivity(transactions.LockTransaction, mock.Anything, hash).Return(answer("lock", func() {
		if b.at.State == lifecycle.TransactionPending {
			b.process(1)
		}
	})).Maybe()

	b.OnActivity(transactions.LookAtTransaction, mock.Anything, hash).Return(answer("look", func() {})).Maybe()
	b.OnActivity(transactions.AlertStuck, mock.Anything, hash).Return(answer("alert", func() {})).Maybe()
	b.OnActivity(transactions.CancelTransaction, mock.Anything, hash).Return(answer("cancel", func() {
		b.at.RetryAt = nil
		if b.at.State == lifecycle.TransactionProcessing && stateOf(b.at.Purchase) != transaction.PaymentSigned && stateOf(b.at.Purchase) != transaction.PaymentPaid {
			b.failed("Cancelled by operator", lifecycle.UnknownError)
		}
	})).Maybe()

	b.OnActivity(transactions.QueuePayment, mock.Anything, mock.Anything).Return(func(_ context.Context, p activities.PaymentOf) (activities.Snapshot, error) {
		b.did("queue")
		b.at.Turn = &transaction.Turn{Kind: p.Kind, Granted: !b.taken}
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.FailTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, f activities.Failure) (activities.Snapshot, error) {
		b.did("fail")
		class := lifecycle.Retryable
		if strings.HasPrefix(f.Message, "Invalid") {
			class = lifecycle.NonRetryable
		}
		b.failed(f.Message, class)
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.ReviewTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Review) (activities.Snapshot, error) {
		b.did("review")
		b.reasons = append(b.reasons, r.Reason)
		b.at.NeedsReview, b.at.Turn = true, nil
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.RetryTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Request) (activities.Snapshot, error) {
		if r.System {
			b.did("retry-by-system")
		} else {
			b.did("retry")
		}
		if r.Actor == 13 {
			return activities.Snapshot{}, temporal.NewNonRetryableApplicationError("no", string(fault.InsufficientAccess), nil)
		}
		b.process(r.Attempt + 1)
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.ResolveTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Request) (activities.Snapshot, error) {
		b.did("resolve")
		b.at.NeedsReview, b.at.State = false, r.Outcome
		if r.Outcome == lifecycle.TransactionFailed {
			b.at.ErrorClass = lifecycle.NonRetryable
		}
		return b.at, nil
	}).Maybe()

	b.quote = func() (activities.Snapshot, error) { b.at.Quoted = true; return b.at, nil }
	b.pay = func(activities.Order) (activities.Payment, error) {
		b.purchase(transaction.PaymentSigned)
		return activities.Payment{Snapshot: b.at}, nil
	}

	b.confirm = func() (activities.Snapshot, error) { b.at.State = lifecycle.TransactionProcessed; return b.at, nil }
	b.OnActivity(payments.QuoteOrder, mock.Anything, mock.Anything).Return(func(context.Context, activities.Order) (activities.Snapshot, error) {
		b.did("quote")
		return b.quote()
	}).Maybe()
	pay := func(_ context.Context, o activities.Order) (activities.Payment, error) {
		b.did("pay")
		return b.pay(o)
	}
	b.OnActivity(payments.PayOrder, mock.Anything, mock.Anything).Return(pay).Maybe()
	b.OnActivity(payments.PayRefund, mock.Anything, mock.Anything).Return(pay).Maybe()
	b.OnActivity(payments.ConfirmPurchase, mock.Anything, mock.Anything).Return(func(context.Context, activities.Order) (activities.Snapshot, error) {
		b.did("confirm")
		return b.confirm()
	}).Maybe()
	b.OnActivity(
		payments.ProveRefund, mock.Anything, hash,
	).Return(answer("prove", func() { b.at.Refund.Kept = true })).Maybe()
	b.OnActivity(payments.BroadcastPayment, mock.Anything, mock.Anything).Return(func(context.Context, activities.PaymentOf) (activities.BroadcastOutcome, error) {
		b.did("broadcast")
		return activities.BroadcastOutcome{Snapshot: b.at, Over: strings.Count(b.done(), "broadcast") >= 3}, nil
	}).Maybe()
	return b
}

func (b *book) process(attempt int) {
	now := b.Now()
	b.at.Snapshot = transaction.Snapshot{
		State: lifecycle.TransactionProcessing, Attempt: attempt, Since: &now,
	}
	b.at.Again = true
}

func (b *book) failed(message string, class lifecycle.ErrorClass) {
	b.messages, b.failedAt = append(b.messages, message), b.Now()
	b.at.State, b.at.Error, b.at.ErrorClass, b.at.Turn = lifecycle.TransactionFailed, message, class, nil
	if len(b.retryIn) > 0 && class != lifecycle.NonRetryable {
		at := b.Now().Add(b.retryIn[0])
		b.at.RetryAt, b.retryIn = &at, b.retryIn[1:]
	}
}

func (b *book) purchase(state transaction.PaymentState) {
	b.at.Purchase = &transaction.PaymentRef{ID: 1, Kind: transaction.Purchase, State: state}
	if state == transaction.PaymentSigned {
		b.at.Signed++
	} else {
		b.at.Turn = nil
	}
	b.at.Again = b.at.Signed < settings.Attempts
}

// later does something when so much time has passed.
func (b *book) later(after time.Duration, do func()) { b.RegisterDelayedCallback(do, after) }

// settles lets the chain decide, and the monitor report it.
func (b *book) settles(after time.Duration, state transaction.PaymentState) {
	b.later(after, func() { b.purchase(state); b.SignalWorkflow(lifecycle.TransactionSettledSignal, nil) })
}

// run runs the workflow to its end and compares what it did.
func (b *book) run(t *testing.T, want string) error {
	t.Helper()
	b.ExecuteWorkflow(lifecycle.TransactionType, hash)
	if !b.IsWorkflowCompleted() {
		t.Fatalf("it does not end: %s", b.done())
	}
	if got := b.done(); got != want {
		t.Errorf("did  %s\nwant %s", got, want)
	}
	return b.GetWorkflowError()
}

func TestWorkflowAwaitsItsTurn(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.taken = true
	// a mistake: it is not its turn
	b.later(time.Minute, func() { b.SignalWorkflow(lifecycle.TransactionTurnSignal, nil) })
	b.later(time.Hour, func() { b.at.Turn.Granted = true; b.SignalWorkflow(lifecycle.TransactionTurnSignal, nil) })
	b.settles(2*time.Hour, transaction.PaymentPaid)
	// Every half hour that it waits is long enough for an alert: one is enough.
	if err := b.run(t, "lock quote queue look alert look pay broadcast broadcast broadcast look confirm"); err != nil {
		t.Error(err)
	}
}

// TestWorkflowBroadcastsAgain checks the pauses between broadcasts: they grow, and end with the payment's time.
func TestWorkflowBroadcastsAgain(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	var at []time.Duration
	start := b.Now()
	b.settles(20*time.Minute, transaction.PaymentPaid)
	b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "BroadcastPayment" {
			at = append(at, b.Now().Sub(start).Round(time.Second))
		}
	})

	if err := b.run(t, "lock quote queue pay broadcast broadcast broadcast look confirm"); err != nil {
		t.Error(err)
	}
	if len(at) != 3 || at[0] != 15*time.Second || at[1] != 45*time.Second || at[2] != 105*time.Second {
		t.Error(at)
	}
}

// TestWorkflowDeadPayments signs anew only what is proven dead, and gives up after as many as the record allows.
func TestWorkflowDeadPayments(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.settles(time.Second, transaction.PaymentDead)
	b.settles(2*time.Second, transaction.PaymentBounced)
	b.settles(3*time.Second, transaction.PaymentDead)
	b.later(4*time.Second, b.CancelWorkflow)
	err := b.run(t, "lock quote queue pay look queue pay look queue pay look fail cancel")
	if !temporal.IsCanceledError(err) || len(b.messages) != 1 || b.messages[0] != "Wallet service error: Could not send transaction" {
		t.Error(err, b.messages)
	}
}

// TestWorkflowQuoteFails has a line for each way a quote can go wrong.
func TestWorkflowQuoteFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		tries   int
		took    time.Duration
		message string
	}{
		"for good":    {temporal.NewNonRetryableApplicationError("Invalid username", "non-retryable", nil), 1, 0, "Invalid username"},
		"for now":     {temporal.NewApplicationError("Failed to fetch: Network error", "retryable"), 3, 90 * time.Second, "Failed to fetch: Network error"},
		"nobody says": {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), 3, 90 * time.Second, "Unknown error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.quote = func() (activities.Snapshot, error) { return activities.Snapshot{}, c.err }
			start := b.Now()
			b.later(time.Hour, b.CancelWorkflow)
			b.ExecuteWorkflow(lifecycle.TransactionType, hash)
			err := b.GetWorkflowError()
			if tries := strings.Count(b.done(), "quote"); tries != c.tries || len(b.messages) != 1 || b.messages[0] != c.message {
				t.Errorf("%s, %v", b.done(), b.messages)
			}
			if took := b.failedAt.Sub(start); took < c.took || took > c.took+time.Minute {
				t.Errorf("took %s", took)
			}
			if failure, ok := errors.AsType[*temporal.ApplicationError](err); name == "for good" && (!ok || failure.Type() != "non-retryable" || failure.Message() != c.message) {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowUnquoted lets an order wait for its turn without a quote: its payment finds one.
func TestWorkflowUnquoted(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.quote = func() (activities.Snapshot, error) { return b.at, nil }
	b.settles(time.Second, transaction.PaymentPaid)
	if err := b.run(t, "lock quote queue pay look confirm"); err != nil {
		t.Error(err)
	}
}

// TestWorkflowPayFails tries again after pauses that grow, as long as the activity says so. What only has to wait burns
// no try.
func TestWorkflowPayFails(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	var tries []int
	var at []time.Duration
	start := b.Now()
	b.pay = func(o activities.Order) (activities.Payment, error) {
		tries, at = append(tries, o.Try), append(at, b.Now().Sub(start).Round(time.Second))
		if len(tries) == 2 { // held: back in line
			b.at.Turn.Granted = false
			return activities.Payment{Snapshot: b.at}, nil
		}
		b.at.Turn = nil
		return activities.Payment{Snapshot: b.at, Failure: "Failed to fetch: Network error", Retry: o.Try < 3}, nil
	}

	b.later(10*time.Minute, func() { b.at.Turn.Granted = true; b.SignalWorkflow(lifecycle.TransactionTurnSignal, nil) })
	b.later(24*time.Hour, b.CancelWorkflow)
	err := b.run(t, "lock quote queue pay queue pay look pay queue pay fail cancel")
	if !temporal.IsCanceledError(err) || b.messages[0] != "Failed to fetch: Network error" {
		t.Error(err, b.messages)
	}

	want := []time.Duration{0, 30 * time.Second, 10 * time.Minute, 11 * time.Minute}
	for i := range want {
		if len(tries) != 4 || at[i] != want[i] || tries[i] != []int{1, 2, 2, 3}[i] {
			t.Fatal(tries, at)
		}
	}
}

// TestWorkflowNotConfirmed asks an operator when the Stars do not come in time, and does what they find.
func TestWorkflowNotConfirmed(t *testing.T) {
	t.Parallel()
	for _, outcome := range []lifecycle.TransactionState{lifecycle.TransactionProcessed, lifecycle.TransactionFailed} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			tries := 0
			b.confirm = func() (activities.Snapshot, error) {
				tries++
				b.calls = b.calls[:len(b.calls)-1]
				if tries < 5 {
					return activities.Snapshot{}, temporal.NewApplicationError("not yet", string(fault.PaymentUndecided))
				}
				return activities.Snapshot{}, temporal.NewNonRetryableApplicationError("over", string(fault.PaymentUndecided), nil)
			}

			b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == "ConfirmPurchase" && info.ScheduleToCloseTimeout < 24*time.Hour {
					t.Errorf("its time in the queue is limited to %s", info.ScheduleToCloseTimeout)
				}
			})
			b.settles(time.Second, transaction.PaymentPaid)
			b.later(time.Hour, b.CancelWorkflow) // the money is paid: that cannot be cancelled
			b.later(2*time.Hour, func() { b.ask(t, "retry", lifecycle.TransactionInput{}, fault.InvalidTransition) })
			b.later(
				3*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: "pending"}, fault.Validation) },
			)
			b.later(4*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: outcome}, "") })
			err := b.run(t, "lock quote queue pay look review alert cancel resolve")
			if (err == nil) != (outcome == lifecycle.TransactionProcessed) || b.reasons[0] != transaction.ReviewNotConfirmed || tries < 5 {
				t.Error(err, b.reasons, tries)
			}
			if len(b.attention) != 1 || !b.attention[0] {
				t.Error(b.attention)
			}
		})
	}
}

// ask sends an update and compares the refusal, if there is to be one.
func (b *book) ask(t *testing.T, name string, in lifecycle.TransactionInput, refusal fault.Code) {
	t.Helper()
	check := func(err error) {
		failure, _ := errors.AsType[*temporal.ApplicationError](err)
		if refusal == "" && err != nil || refusal != "" && (failure == nil || failure.Type() != string(refusal)) {
			t.Errorf("%s: %v, want %s", name, err, refusal)
		}
	}

	b.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   check,
		OnComplete: func(_ any, err error) { check(err) },
	}, in)
}

// TestWorkflowRetried waits as long as it takes for an operator.
func TestWorkflowRetried(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]func(*testing.T, *book){
		"update": func(t *testing.T, b *book) {
			b.ask(t, "retry", lifecycle.TransactionInput{Actor: 1}, "")
		},
		"signal": func(_ *testing.T, b *book) {
			b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{})
		},
		"refused first": func(t *testing.T, b *book) {
			b.ask(t, "retry", lifecycle.TransactionInput{Actor: 13}, fault.InsufficientAccess)
			b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			good := b.quote
			b.quote = func() (activities.Snapshot, error) {
				b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{}) // too early: means nothing
				return activities.Snapshot{}, temporal.NewNonRetryableApplicationError("Something", "unknown", nil)
			}

			b.later(1000*time.Hour, func() { b.quote = good; retry(t, b) })
			b.settles(1001*time.Hour, transaction.PaymentPaid)
			want := "lock quote fail retry quote queue pay broadcast broadcast broadcast alert look confirm"
			if name == "refused first" {
				want = strings.Replace(want, "retry", "retry retry", 1)
			}

			if err := b.run(t, want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowGoesOn starts with the record in the middle of things: what an operator has ended or reset goes on from
// there.
func TestWorkflowGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(*book)
		want  string
	}{
		"granted": {func(b *book) {
			b.at.Quoted, b.at.Turn = true, &transaction.Turn{Kind: transaction.Purchase, Granted: true}
			b.settles(time.Second, transaction.PaymentPaid)
		}, "lock pay look confirm"},
		"signed": {func(b *book) { b.purchase(transaction.PaymentSigned); b.settles(time.Second, transaction.PaymentPaid) }, "lock look confirm"},
		"paid":   {func(b *book) { b.purchase(transaction.PaymentPaid) }, "lock confirm"},
		"dead": {func(b *book) {
			b.at.Quoted = true
			b.purchase(transaction.PaymentDead)
			b.settles(time.Second, transaction.PaymentPaid)
		}, "lock queue pay look confirm"},
		"processed": {func(b *book) { b.at.State = lifecycle.TransactionProcessed }, "lock"},
		"found by itself": {func(b *book) { // the signal was lost
			b.purchase(transaction.PaymentSigned)
			b.later(20*time.Second, func() { b.purchase(transaction.PaymentPaid) })
		}, "lock broadcast broadcast confirm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.process(1)
			c.begin(b)
			if err := b.run(t, c.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowRefunds gives back what is owed, however long it takes, and nothing else.
func TestWorkflowRefunds(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	b.failed("Invalid username", lifecycle.NonRetryable)
	b.at.RefundDue = 1000
	tries := 0
	b.pay = func(o activities.Order) (activities.Payment, error) {
		if tries++; tries < 3 {
			b.at.Turn = nil
			return activities.Payment{Snapshot: b.at, Failure: "Wallet service error: Could not send transaction"}, nil
		}
		b.at.Refund, b.at.RefundDue = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentSigned}, 0
		return activities.Payment{Snapshot: b.at}, nil
	}

	b.later(5*time.Minute, func() { // dead: owed again
		b.at.Refund, b.at.RefundDue, b.at.Turn = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentDead}, 1000, nil
		b.SignalWorkflow(lifecycle.TransactionSettledSignal, nil)
	})
	b.later(6*time.Minute, b.CancelWorkflow) // what is owed is owed
	b.later(time.Hour, func() {
		b.at.Refund, b.at.Turn = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentPaid}, nil
		b.SignalWorkflow(lifecycle.TransactionSettledSignal, nil)
	})
	err := b.run(
		t, "lock queue pay queue pay queue pay broadcast broadcast broadcast look cancel queue pay broadcast look prove",
	)
	if err == nil || len(b.messages) != 1 {
		t.Error(err, b.messages)
	}
}

// TestWorkflowContinuesWhileOwed starts anew when its history is long, while a refund cannot be paid; one that was
// cancelled hands that over to the next run.
func TestWorkflowContinuesWhileOwed(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"as ever": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.process(1)
			b.failed("Invalid username", lifecycle.NonRetryable)
			b.at.RefundDue = 1000
			tries := 0
			b.pay = func(activities.Order) (activities.Payment, error) {
				b.at.Turn = nil
				if tries++; tries == 60 { // hours after the history is long
					b.at.Refund, b.at.RefundDue = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentPaid, Kept: true}, 0
					return activities.Payment{Snapshot: b.at}, nil
				}
				return activities.Payment{Snapshot: b.at, Failure: "Wallet service error: Could not send transaction"}, nil
			}

			if cancelled {
				b.later(time.Minute, b.CancelWorkflow)
			}

			b.later(30*time.Hour, func() { b.SetContinueAsNewSuggested(true) })
			b.ExecuteWorkflow(lifecycle.TransactionType, hash)
			if carried := b.handedOver(t); carried.Cancelled != cancelled || carried.Tries < 30 || carried.RestUntil == nil {
				t.Errorf("the next run gets %+v", carried)
			}
		})
	}
}

// TestMonitorContinues hands over from one activity to the next for ever.
func TestMonitorContinues(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	env.RegisterWorkflowWithOptions(Monitor, workflow.RegisterOptions{Name: lifecycle.TonMonitorType})
	env.RegisterActivity(&activities.Monitor{})
	env.OnActivity(monitor.WatchWallet, mock.Anything, "0:abc").Return(nil).Once()
	env.ExecuteWorkflow(lifecycle.TonMonitorType, "0:abc")
	if next, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError()); !ok || next.WorkflowType.Name != lifecycle.TonMonitorType {
		t.Error(env.GetWorkflowError())
	}

	env.AssertExpectations(t)
}
