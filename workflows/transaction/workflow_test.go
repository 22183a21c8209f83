package transaction

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
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

// book is a record of one transaction, as far as visible to its workflow.
type book struct {
	*testsuite.TestWorkflowEnvironment
	at        snapshot
	attention []bool
	stages    []string
	options   map[string]workflow.ActivityOptions // of the ordinary activities
	leaves    time.Duration                       // how long a cancelled activity takes to end

	pay     func(activities.Order) (snapshot, error)
	refund  func(activities.Order) (snapshot, error)
	confirm func() (snapshot, error)
	stuck   func() time.Duration // how much later the alert is due; 0: now

	mu        sync.Mutex // a worker may run several activities at once
	calls     []string
	cancelled []string // the ids of activities, which the environment retries nevertheless
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

// newBook returns an environment with skipped time and activities that keep to a pending transaction.
func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{TestWorkflowEnvironment: testtemporal.Environment(), options: map[string]workflow.ActivityOptions{}}
	b.at = snapshot{State: lifecycle.TransactionPending, Sender: "a sender"}
	b.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&watching{book: b}},
	})

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
		if attention, ok := attributes.GetBool(temporalio.AttentionAttribute); ok { // true: the environment reports no other
			b.attention = append(b.attention, attention)
		}
	}).Return(nil).Maybe()
	b.SetOnActivityCanceledListener(func(info *activity.Info) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.cancelled = append(b.cancelled, info.ActivityID)
	})

	answer := func(what string, change func()) func(context.Context, string) (snapshot, error) {
		return func(context.Context, string) (snapshot, error) {
			b.did(what)
			change()
			return b.at, nil
		}
	}

	b.OnActivity(transactions.OpenTransaction, mock.Anything, hash).Return(answer("open", func() {})).Maybe()
	b.OnActivity(transactions.LookAtTransaction, mock.Anything, hash).Return(answer("look", func() {})).Maybe()
	b.stuck = func() time.Duration {
		if b.at.State != lifecycle.TransactionProcessing {
			return settings.StuckAfter
		}
		return 0
	}
	b.OnActivity(transactions.AlertStuck, mock.Anything, hash).Return(func(context.Context, string) (time.Duration, error) {
		later := b.stuck()
		if later == 0 {
			b.did("alert")
		}
		return later, nil
	}).Maybe()
	b.OnActivity(transactions.CancelTransaction, mock.Anything, hash).Return(answer("cancel", func() {
		b.at.RetryAt = nil
		if !b.at.Ended() && stateOf(b.at.Purchase) != transaction.PaymentSigned && stateOf(b.at.Purchase) != transaction.PaymentPaid {
			b.failed("Cancelled by operator", lifecycle.UnknownError)
		}
	})).Maybe()

	b.OnActivity(transactions.RetryTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Request) (snapshot, error) {
		b.did("retry")
		if b.at.State != lifecycle.TransactionFailed {
			return snapshot{}, temporalio.ToTemporal(fault.New(fault.InvalidTransition, "no"))
		}
		if r.Actor == 13 {
			return snapshot{}, temporal.NewNonRetryableApplicationError("no", string(fault.InsufficientAccess), nil)
		}
		b.process()
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.AskReview, mock.Anything, mock.Anything).Return(func(context.Context, activities.Request) (snapshot, error) {
		b.did("ask")
		b.process()
		b.at.NeedsReview = true
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.ResolveTransaction, mock.Anything, mock.Anything).Return(func(_ context.Context, r activities.Request) (snapshot, error) {
		b.did("resolve")
		b.at.NeedsReview, b.at.State = false, r.Outcome
		if r.Outcome == lifecycle.TransactionFailed {
			b.at.ErrorClass = lifecycle.NonRetryable
		}
		return b.at, nil
	}).Maybe()

	b.OnActivity(transactions.WriteOffRefund, mock.Anything, mock.Anything).Return(func(context.Context, activities.Request) (snapshot, error) {
		b.did("write_off")
		b.at.RefundDue = 0
		return b.at, nil
	}).Maybe()

	b.pay = func(activities.Order) (snapshot, error) {
		b.process()
		b.at.State = lifecycle.TransactionProcessed
		return b.at, nil
	}
	b.OnActivity(payments.Pay, mock.Anything, mock.Anything).Return(func(ctx context.Context, o activities.Order) (snapshot, error) {
		switch {
		case b.gone(ctx):
			return snapshot{}, temporal.NewCanceledError()
		case o.Decide:
			b.did("decide")
		default:
			b.did("pay")
		}
		return b.pay(o)
	}).Maybe()
	b.OnActivity(payments.Refund, mock.Anything, mock.Anything).Return(func(ctx context.Context, o activities.Order) (snapshot, error) {
		if b.gone(ctx) {
			return snapshot{}, temporal.NewCanceledError()
		}
		b.did("refund")
		return b.refund(o)
	}).Maybe()

	b.confirm = func() (snapshot, error) { b.at.State = lifecycle.TransactionProcessed; return b.at, nil }
	b.OnActivity(payments.Confirm, mock.Anything, mock.Anything).Return(func(context.Context, activities.Order) (snapshot, error) {
		b.did("confirm")
		return b.confirm()
	}).Maybe()
	b.OnActivity(
		payments.ProveRefund, mock.Anything, hash,
	).Return(answer("prove", func() { b.at.Refund.Kept = true })).Maybe()
	return b
}

// gone reports whether an activity was cancelled: a server would not retry it.
func (b *book) gone(ctx context.Context) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.cancelled, activity.GetInfo(ctx).ActivityID)
}

// watching records the options of activities. The environment ends a cancelled activity at once, a server once it has
// honored the cancellation.
type watching struct {
	interceptor.WorkerInterceptorBase
	book *book
}

func (w *watching) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &inbound{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, book: w.book}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	book *book
}

func (i *inbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&outbound{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: out}, book: i.book})
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	book *book
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	o.book.options[activityType] = workflow.GetActivityOptions(ctx)
	executed := o.Next.ExecuteActivity(ctx, activityType, args...)
	if o.book.leaves == 0 {
		return executed
	}

	ctx, _ = workflow.NewDisconnectedContext(ctx)
	left, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if temporal.IsCanceledError(executed.Get(ctx, nil)) {
			_ = workflow.Sleep(ctx, o.book.leaves)
		}
		end.Chain(executed)
	})
	return left
}

// process moves the transaction to processing, unless it is there.
func (b *book) process() {
	if b.at.State != lifecycle.TransactionProcessing {
		now := b.Now()
		b.at = snapshot{State: lifecycle.TransactionProcessing, Attempt: b.at.Attempt + 1, Since: &now, Sender: b.at.Sender}
	}
}

func (b *book) failed(message string, class lifecycle.ErrorClass) {
	b.process()
	b.at.State, b.at.Error, b.at.ErrorClass = lifecycle.TransactionFailed, message, class
}

// later schedules something after this much time.
func (b *book) later(after time.Duration, do func()) { b.RegisterDelayedCallback(do, after) }

// again ends an attempt of Pay or Refund that is to be retried after a delay: the workflow is notified of the recorded
// state.
func (b *book) again(kind string, pause time.Duration) (snapshot, error) {
	at := b.at
	b.later(0, func() { b.SignalWorkflow(lifecycle.TransactionStageSignal, at) })
	return snapshot{}, temporal.NewApplicationErrorWithOptions(kind, kind, temporal.ApplicationErrorOptions{NextRetryDelay: pause})
}

// fails ends a failed attempt, and plans the next one.
func (b *book) fails(pause time.Duration) (snapshot, error) {
	at := b.Now().Add(pause)
	b.failed("Wallet service error: Could not send transaction", lifecycle.Retryable)
	b.at.RetryAt = &at
	return b.again(string(lifecycle.Retryable), pause)
}

// defers ends an attempt that does not fit into the limit.
func (b *book) defers(pause time.Duration) (snapshot, error) {
	until := b.Now().Add(pause)
	b.at.DeferredUntil = &until
	return b.again(string(fault.DailyLimit), pause)
}

// inLine ends an attempt that waited in vain: nothing is written.
func (b *book) inLine(pause time.Duration) (snapshot, error) {
	return snapshot{}, temporal.NewApplicationErrorWithOptions(
		"payments are paused", string(fault.PaymentsPaused), temporal.ApplicationErrorOptions{NextRetryDelay: pause},
	)
}

func (b *book) purchase(state transaction.PaymentState) {
	b.at.Purchase = &transaction.PaymentRef{ID: 1, Kind: transaction.Purchase, State: state}
}

// unpaidUntil lets every purchase before a time fail, notifying an operator.
func (b *book) unpaidUntil(at time.Time) {
	bought := b.pay
	b.pay = func(o activities.Order) (snapshot, error) {
		if b.Now().Before(at) {
			b.failed("Wallet service error: Could not send transaction", lifecycle.Retryable)
			return b.at, nil
		}
		return bought(o)
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

// TestWorkflowBuys processes an order by one activity. It may wait in its queue indefinitely, and senders take turns.
// Only failures caused by the payer are not retried.
func TestWorkflowBuys(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	if err := b.run(t, "open pay"); err != nil {
		t.Error(err)
	}

	got := b.options["Pay"]
	if got.TaskQueue != "payments" || got.Priority.FairnessKey != "a sender" || !got.WaitForCancellation {
		t.Errorf("its options are %+v", got)
	}
	if got.StartToCloseTimeout != 15*time.Minute || got.HeartbeatTimeout != 30*time.Second ||
		got.ScheduleToCloseTimeout != 0 || got.ScheduleToStartTimeout != 0 {
		t.Errorf("its times are %+v", got)
	}
	if got := got.RetryPolicy.NonRetryableErrorTypes; !slices.Equal(got, []string{
		"Invalid username", "Invalid username format", "Username not found", "Stars amount should be at least 50",
		"Stars amount exceeds maximum limit", "Invalid comment format", "Insufficient amount",
	}) {
		t.Errorf("not repeated are %q", got)
	}
}

// TestWorkflowIsInterrupted stops and loses workers, more often than any limit of attempts allows, before and after the
// signature.
func TestWorkflowIsInterrupted(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	bought, tries := b.pay, 0
	b.pay = func(o activities.Order) (snapshot, error) {
		switch tries++; {
		case tries < 10:
			return b.inLine(time.Second)
		case tries < 20:
			b.process()
			b.purchase(transaction.PaymentSigned)
			return snapshot{}, errors.New("its worker was lost")
		}
		b.purchase(transaction.PaymentPaid)
		return bought(o)
	}
	if err := b.run(t, "open"+strings.Repeat(" pay", 20)); err != nil {
		t.Error(err)
	}
}

// TestWorkflowIsDeferred waits for room in the limit, until the time comes or a person ends the wait. It is not a
// failure.
func TestWorkflowIsDeferred(t *testing.T) {
	t.Parallel()
	signal := func(name string) func(*testing.T, *book) {
		return func(_ *testing.T, b *book) { b.SignalWorkflow(name, lifecycle.TransactionInput{}) }
	}
	review := func(outcome lifecycle.TransactionState) func(*testing.T, *book) {
		return func(t *testing.T, b *book) {
			b.ask(t, "review", lifecycle.TransactionInput{}, "")
			b.later(time.Minute, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: outcome}, "") })
		}
	}
	for name, c := range map[string]struct {
		hint func(*testing.T, *book)
		want string
		took time.Duration
	}{
		"for its time":              {func(*testing.T, *book) {}, "open pay pay", time.Hour},
		"by the record":             {signal(lifecycle.TransactionRefreshSignal), "open pay look look pay", time.Minute},
		"by signal":                 {signal(lifecycle.TransactionRetrySignal), "open pay retry look look pay", time.Minute},
		"by a review, and it ends":  {review(lifecycle.TransactionFailed), "open pay ask look resolve", 0},
		"by a review, and it stays": {review(lifecycle.TransactionProcessing), "open pay ask look resolve pay", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			begin, bought := b.Now(), b.pay
			var took time.Duration
			b.pay = func(o activities.Order) (snapshot, error) {
				took = b.Now().Sub(begin).Round(time.Second)
				if took < time.Minute {
					return b.defers(time.Hour)
				}
				return bought(o)
			}
			b.later(time.Minute, func() { c.hint(t, b) })
			if err := b.run(t, c.want); (err == nil) != (c.took > 0) || took != c.took || slices.Contains(b.stages, "failed") != (c.took == 0) {
				t.Error(err, took, b.stages)
			}
		})
	}
}

// TestWorkflowShowsTheStage shows what an attempt has written while Temporal waits for the next one: that it failed,
// and when it is retried.
func TestWorkflowShowsTheStage(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	begin, bought := b.Now(), b.pay
	b.pay = func(o activities.Order) (snapshot, error) {
		if b.Now().Sub(begin) < time.Hour {
			return b.fails(time.Hour)
		}
		return bought(o)
	}
	b.later(time.Minute, func() {
		var shown lifecycle.TransactionView
		answer, err := b.QueryWorkflow(lifecycle.StateQuery)
		if err != nil || answer.Get(&shown) != nil {
			t.Error(err)
		}
		if shown.State != "failed" || shown.WaitsFor != lifecycle.WaitsForRetry || shown.Error != b.at.Error ||
			shown.DeadlineAt == nil || !shown.DeadlineAt.Equal(*b.at.RetryAt) {
			t.Errorf("shown is %+v", shown)
		}
	})
	if err := b.run(t, "open pay pay"); err != nil || !slices.Equal(b.stages, []string{"pending", "failed", "processed"}) {
		t.Error(err, b.stages)
	}
}

// TestWorkflowAlertsWhenItIsStuck keeps waiting while it is not stuck according to the record, and alerts once.
func TestWorkflowAlertsWhenItIsStuck(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	begin, later := b.Now(), []time.Duration{time.Hour, 10 * time.Minute, 0}
	var asked []time.Duration
	b.stuck = func() (left time.Duration) {
		asked = append(asked, b.Now().Sub(begin).Round(time.Minute))
		if len(later) > 0 {
			left, later = later[0], later[1:]
		}
		return left
	}
	b.pay = func(activities.Order) (snapshot, error) {
		b.process()
		b.at.NeedsReview = true
		return b.at, nil
	}
	b.later(24*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: "failed"}, "") })
	if err := b.run(t, "open pay alert look resolve"); err == nil {
		t.Error("it has not failed")
	}
	if !slices.Equal(asked, []time.Duration{30 * time.Minute, 90 * time.Minute, 100 * time.Minute}) {
		t.Errorf("the record was asked after %s", asked)
	}
}

// TestWorkflowIsCancelled stops what is queued; what is signed is decided, and nothing more is signed.
func TestWorkflowIsCancelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decided transaction.PaymentState
		want    string
	}{
		"in the line": {"", "open pay look cancel"},
		"dead":        {transaction.PaymentDead, "open pay look cancel decide look cancel"},
		"paid":        {transaction.PaymentPaid, "open pay look cancel decide confirm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			begin := b.Now()
			b.pay = func(o activities.Order) (snapshot, error) {
				if !o.Decide {
					if c.decided != "" {
						b.process()
						b.purchase(transaction.PaymentSigned)
					}
					b.CancelWorkflow()
					return snapshot{}, temporal.NewCanceledError()
				}
				if b.purchase(c.decided); c.decided == transaction.PaymentDead {
					return b.fails(time.Hour)
				}
				return b.at, nil
			}
			err := b.run(t, c.want)
			if (err == nil) != (c.decided == transaction.PaymentPaid) || err != nil && !temporal.IsCanceledError(err) {
				t.Error(err)
			}
			if took := b.Now().Sub(begin); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestWorkflowNotConfirmed notifies an operator if the Stars do not arrive in time, and carries out the operator's
// decision.
func TestWorkflowNotConfirmed(t *testing.T) {
	t.Parallel()
	for _, outcome := range []lifecycle.TransactionState{lifecycle.TransactionProcessed, lifecycle.TransactionFailed} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			tries := 0
			b.confirm = func() (snapshot, error) {
				if tries++; tries < 5 {
					return snapshot{}, temporal.NewApplicationError("not yet", string(fault.PaymentUndecided))
				}
				b.at.NeedsReview = true
				return b.at, nil
			}
			b.pay = func(activities.Order) (snapshot, error) {
				b.process()
				b.purchase(transaction.PaymentPaid)
				return b.at, nil
			}
			b.later(time.Hour, b.CancelWorkflow) // the money is paid: that cannot be cancelled
			b.later(2*time.Hour, func() { b.ask(t, "retry", lifecycle.TransactionInput{}, fault.InvalidTransition) })
			b.later(
				3*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: "pending"}, fault.Validation) },
			)
			b.later(4*time.Hour, func() { b.ask(t, "resolve", lifecycle.TransactionInput{Outcome: outcome}, "") })
			err := b.run(t, "open pay confirm confirm confirm confirm confirm alert look cancel retry resolve")
			if (err == nil) != (outcome == lifecycle.TransactionProcessed) {
				t.Error(err)
			}
			if got := b.options["Confirm"]; got.TaskQueue != lifecycle.WalletQueue || got.ScheduleToCloseTimeout != 0 || got.ScheduleToStartTimeout != 0 {
				t.Errorf("its options are %+v", got)
			}
			if len(b.attention) != 1 || !b.attention[0] {
				t.Error(b.attention)
			}
		})
	}
}

// ask sends an update and compares the refusal, if one is expected.
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

// TestWorkflowRetried waits indefinitely for an operator.
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
			want := "open pay retry pay"
			if name == "refused first" {
				want = strings.Replace(want, "retry", "retry retry", 1)
			}

			if err := b.run(t, want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowGoesOn starts from a record in an intermediate state: a workflow ended or reset by an operator continues
// from there.
func TestWorkflowGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(*book)
		want  string
	}{
		"signed":    {func(b *book) { b.purchase(transaction.PaymentSigned) }, "open pay"},
		"paid":      {func(b *book) { b.purchase(transaction.PaymentPaid) }, "open confirm"},
		"dead":      {func(b *book) { b.purchase(transaction.PaymentDead) }, "open pay"},
		"processed": {func(b *book) { b.at.State = lifecycle.TransactionProcessed }, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.process()
			bought := b.pay
			b.pay = func(o activities.Order) (snapshot, error) {
				b.at.Purchase = nil
				return bought(o)
			}
			c.begin(b)
			if err := b.run(t, c.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkflowRefunds pays back what is owed, however long it takes, and nothing else: neither a cancel nor the daily
// limit changes that.
func TestWorkflowRefunds(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.failed("Invalid username", lifecycle.NonRetryable)
	b.at.RefundDue = 1000
	tries := 0
	b.refund = func(o activities.Order) (snapshot, error) {
		if o.Decide {
			t.Error("what is owed is not paid after a cancel")
		}
		switch tries++; tries {
		case 1:
			return b.defers(time.Hour)
		case 2:
			return b.inLine(time.Second)
		}
		b.at.Refund, b.at.RefundDue = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentPaid}, 0
		return b.at, nil
	}

	b.later(6*time.Minute, b.CancelWorkflow) // a debt stays a debt
	if err := b.run(t, "open refund look cancel refund refund prove"); err == nil {
		t.Error(err)
	}
	if got := b.options["Refund"]; got.TaskQueue != "refunds" || got.ScheduleToCloseTimeout != 0 || len(got.RetryPolicy.NonRetryableErrorTypes) > 0 {
		t.Errorf("its options are %+v", got)
	}
}

// TestWorkflowWritesOffRefund is notified that a refund deferred by the limit is written off.
func TestWorkflowWritesOffRefund(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.failed("Invalid username", lifecycle.NonRetryable)
	b.at.RefundDue = 1000
	b.refund = func(activities.Order) (snapshot, error) { return b.defers(time.Hour) }
	b.later(time.Minute, func() { b.ask(t, "write_off", lifecycle.TransactionInput{}, "") })
	if err := b.run(t, "open refund write_off look"); err == nil {
		t.Error("it has not failed")
	}
}

// TestMonitorContinues hands over from one activity to the next forever.
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
