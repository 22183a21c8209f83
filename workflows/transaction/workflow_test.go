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

var settings = Settings{StuckAfter: 30 * time.Minute}

var hash = strings.Repeat("ab", 32)

// book is a record of one transaction, as far as its workflow can see.
type book struct {
	*testsuite.TestWorkflowEnvironment
	at        activities.Snapshot
	retryIn   []time.Duration // after each failure; none left: an operator is asked
	reasons   []string        // of reviews
	attention []bool
	stages    []string

	buy     func(context.Context, activities.Order) (activities.Outcome, error)
	refund  func(activities.Order) (activities.Outcome, error)
	confirm func() (activities.Snapshot, error)
	alert   func() time.Duration // how much later it is due

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
	b.alert = func() time.Duration { return 0 }
	b.OnActivity(transactions.AlertStuck, mock.Anything, hash).Return(func(context.Context, string) (time.Duration, error) {
		b.did("alert")
		return b.alert(), nil
	}).Maybe()
	b.OnActivity(transactions.CancelTransaction, mock.Anything, hash).Return(answer("cancel", func() {
		b.at.RetryAt = nil
		if b.at.State == lifecycle.TransactionProcessing && stateOf(b.at.Purchase) != transaction.PaymentSigned && stateOf(b.at.Purchase) != transaction.PaymentPaid {
			b.failed("Cancelled by operator", lifecycle.UnknownError)
		}
	})).Maybe()

	b.OnActivity(transactions.ReviewTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Review) (activities.Snapshot, error) {
		b.did("review")
		b.reasons = append(b.reasons, r.Reason)
		b.at.NeedsReview = true
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

	b.buy = func(context.Context, activities.Order) (activities.Outcome, error) {
		b.at.State = lifecycle.TransactionProcessed
		return activities.Outcome{Snapshot: b.at}, nil
	}
	b.OnActivity(payments.Buy, mock.Anything, mock.Anything).Return(func(ctx context.Context, o activities.Order) (activities.Outcome, error) {
		if o.Decide {
			b.did("decide")
		} else {
			b.did("buy")
		}
		return b.buy(ctx, o)
	}).Maybe()
	b.OnActivity(payments.Refund, mock.Anything, mock.Anything).Return(func(_ context.Context, o activities.Order) (activities.Outcome, error) {
		b.did("refund")
		return b.refund(o)
	}).Maybe()

	b.confirm = func() (activities.Snapshot, error) { b.at.State = lifecycle.TransactionProcessed; return b.at, nil }
	b.OnActivity(payments.ConfirmPurchase, mock.Anything, mock.Anything).Return(func(context.Context, activities.Order) (activities.Snapshot, error) {
		b.did("confirm")
		return b.confirm()
	}).Maybe()
	b.OnActivity(
		payments.ProveRefund, mock.Anything, hash,
	).Return(answer("prove", func() { b.at.Refund.Kept = true })).Maybe()
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
	b.at.State, b.at.Error, b.at.ErrorClass = lifecycle.TransactionFailed, message, class
	if len(b.retryIn) > 0 && class != lifecycle.NonRetryable {
		at := b.Now().Add(b.retryIn[0])
		b.at.RetryAt, b.retryIn = &at, b.retryIn[1:]
	}
}

func (b *book) purchase(state transaction.PaymentState) {
	b.at.Purchase = &transaction.PaymentRef{ID: 1, Kind: transaction.Purchase, State: state}
}

// later does something when so much time has passed.
func (b *book) later(after time.Duration, do func()) { b.RegisterDelayedCallback(do, after) }

// unpaidUntil lets every purchase before a time fail.
func (b *book) unpaidUntil(at time.Time) {
	bought := b.buy
	b.buy = func(ctx context.Context, o activities.Order) (activities.Outcome, error) {
		if b.Now().Before(at) {
			b.failed("Wallet service error: Could not send transaction", lifecycle.Retryable)
			return activities.Outcome{Snapshot: b.at}, nil
		}
		return bought(ctx, o)
	}
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

// TestWorkflowBuys lets an order through: one activity, and no word of the turn that it waits for.
func TestWorkflowBuys(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "Buy" && info.ScheduleToCloseTimeout < 24*time.Hour {
			t.Errorf("its time in the queue is limited to %s", info.ScheduleToCloseTimeout)
		}
	})
	if err := b.run(t, "lock buy"); err != nil {
		t.Error(err)
	}
}

// TestWorkflowIsInterrupted executes the purchase again when its worker has stopped, and when its time was over.
func TestWorkflowIsInterrupted(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	ends := []error{temporalio.Interrupted(0), temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil)}
	bought := b.buy
	b.buy = func(ctx context.Context, o activities.Order) (activities.Outcome, error) {
		if len(ends) == 0 {
			b.purchase(transaction.PaymentPaid)
			return bought(ctx, o)
		}
		end := ends[0]
		if ends = ends[1:]; len(ends) == 0 {
			b.purchase(transaction.PaymentSigned) // its worker signed, and was lost
		}
		return activities.Outcome{}, end
	}
	if err := b.run(t, "lock buy look buy buy"); err == nil {
		t.Log(b.done())
	}
}

// TestWorkflowIsDeferred waits for room in the limit, until the time comes or a person ends the wait. It is no failure.
func TestWorkflowIsDeferred(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hint func(*book)
		want string
		took time.Duration
	}{
		"for its time": {func(*book) {}, "lock buy alert buy", time.Hour},
		"by signal": {func(b *book) {
			b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{})
		}, "lock buy look buy", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			begin, bought := b.Now(), b.buy
			var took time.Duration
			b.buy = func(ctx context.Context, o activities.Order) (activities.Outcome, error) {
				took = b.Now().Sub(begin)
				if took < time.Minute {
					until := begin.Add(time.Hour)
					return activities.Outcome{Snapshot: b.at, DeferredUntil: &until}, nil
				}
				return bought(ctx, o)
			}
			b.later(time.Minute, func() { c.hint(b) })
			if err := b.run(t, c.want); err != nil || took.Round(time.Second) != c.took {
				t.Error(err, took)
			}
		})
	}
}

// TestWorkflowAlertsWhenItIsStuck waits on while payments are stopped, and alerts once.
func TestWorkflowAlertsWhenItIsStuck(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	later := []time.Duration{time.Hour, 10 * time.Minute}
	b.alert = func() (left time.Duration) {
		if len(later) > 0 {
			left, later = later[0], later[1:]
		}
		return left
	}
	b.buy = func(context.Context, activities.Order) (activities.Outcome, error) {
		b.at.NeedsReview = true
		return activities.Outcome{Snapshot: b.at}, nil
	}
	b.later(24*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: "failed"}, "") })
	if err := b.run(t, "lock buy alert alert alert resolve"); err == nil {
		t.Error("it has not failed")
	}
}

// TestWorkflowIsCancelled stops what waits for its turn; what is signed is decided, and signed no more.
func TestWorkflowIsCancelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decided transaction.PaymentState
		want    string
	}{
		"in the queue": {"", "lock buy look cancel"},
		"dead":         {transaction.PaymentDead, "lock buy look cancel decide cancel"},
		"paid":         {transaction.PaymentPaid, "lock buy look cancel decide"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.buy = func(_ context.Context, o activities.Order) (activities.Outcome, error) {
				if !o.Decide {
					if c.decided != "" {
						b.purchase(transaction.PaymentSigned)
					}
					b.CancelWorkflow()
					return activities.Outcome{}, temporal.NewCanceledError()
				}
				if b.purchase(c.decided); c.decided == transaction.PaymentPaid {
					b.at.State = lifecycle.TransactionProcessed
				}
				return activities.Outcome{Snapshot: b.at}, nil
			}
			err := b.run(t, c.want)
			if (err == nil) != (c.decided == transaction.PaymentPaid) || err != nil && !temporal.IsCanceledError(err) {
				t.Error(err)
			}
		})
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
			b.buy = b.paysOnly
			b.later(time.Hour, b.CancelWorkflow) // the money is paid: that cannot be cancelled
			b.later(2*time.Hour, func() { b.ask(t, "retry", lifecycle.TransactionInput{}, fault.InvalidTransition) })
			b.later(
				3*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: "pending"}, fault.Validation) },
			)
			b.later(4*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: outcome}, "") })
			err := b.run(t, "lock buy review alert cancel resolve")
			if (err == nil) != (outcome == lifecycle.TransactionProcessed) || b.reasons[0] != transaction.ReviewNotConfirmed || tries < 5 {
				t.Error(err, b.reasons, tries)
			}
			if len(b.attention) != 1 || !b.attention[0] {
				t.Error(b.attention)
			}
		})
	}
}

// paysOnly pays for Stars that do not come in the turn.
func (b *book) paysOnly(context.Context, activities.Order) (activities.Outcome, error) {
	asked := b.Now()
	b.purchase(transaction.PaymentPaid)
	return activities.Outcome{Snapshot: b.at, AskedAt: &asked}, nil
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
			b.unpaidUntil(b.Now().Add(999 * time.Hour))
			b.later(1000*time.Hour, func() { retry(t, b) })
			want := "lock buy retry buy"
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
		"signed":    {func(b *book) { b.purchase(transaction.PaymentSigned) }, "lock buy"},
		"paid":      {func(b *book) { b.purchase(transaction.PaymentPaid) }, "lock buy"},
		"dead":      {func(b *book) { b.purchase(transaction.PaymentDead) }, "lock buy"},
		"processed": {func(b *book) { b.at.State = lifecycle.TransactionProcessed }, "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.process(1)
			bought := b.buy
			b.buy = func(ctx context.Context, o activities.Order) (activities.Outcome, error) {
				b.at.Purchase = nil
				return bought(ctx, o)
			}
			c.begin(b)
			if err := b.run(t, c.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowRefunds gives back what is owed, however long it takes, and nothing else: a cancel does not change that, and
// neither does a day's limit.
func TestWorkflowRefunds(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	b.failed("Invalid username", lifecycle.NonRetryable)
	b.at.RefundDue = 1000
	tries := 0
	b.refund = func(o activities.Order) (activities.Outcome, error) {
		if o.Decide {
			t.Error("what is owed is not paid after a cancel")
		}
		switch tries++; tries {
		case 1:
			until := b.Now().Add(time.Hour)
			return activities.Outcome{Snapshot: b.at, DeferredUntil: &until}, nil
		case 2:
			return activities.Outcome{}, temporalio.Interrupted(0)
		}
		b.at.Refund, b.at.RefundDue = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentPaid}, 0
		return activities.Outcome{Snapshot: b.at}, nil
	}

	b.later(6*time.Minute, b.CancelWorkflow) // what is owed is owed
	if err := b.run(t, "lock refund cancel refund look refund prove"); err == nil {
		t.Error(err)
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
