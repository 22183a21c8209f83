package transaction_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/workflows/transaction"
)

// chaos is one history: a wallet, its chain, its shop and their workflows, all in skipped time.
type chaos struct {
	*testsuite.TestWorkflowEnvironment
	lab               *chaosRig
	plan              plan
	chain             *tonsim.TonCenter
	fragment          *tonsim.Fragment
	stopShop          func()
	wallet            *ton.Wallet
	allow             []ton.Address
	toncenter         *toncenter.Client
	paymentActivities *activities.PaymentActivities
	purchases         *activities.Activities
	monitor           *activities.Monitor
	client            *service.Transactions
	logs              logs

	purse sync.Mutex
	lost  int64 // nanoTON that were taken out of the wallet
	safe  bool  // the trouble is over: a robbery whose broadcast is still being answered comes too late

	mu         sync.Mutex
	hashes     []string
	errands    []errand
	problems   []string
	alive      map[int]context.CancelCauseFunc // activities that a worker has at hand
	tasks      int                             // activities so far
	deathIn    int                             // requests until the worker dies; 0: it lives
	deathAfter bool                            // when the request was answered, instead of before
	robbery    int64                           // nanoTON that are left in the wallet after the next broadcast; 0: all
	lossIn     map[string]int                  // commands until a workflow is lost
	retried    map[string]int                  // by the operator, at the end
	tally      map[string]int                  // what has happened, to know that it does
}

// errand is a pending notification of a workflow.
type errand struct {
	hash   string
	start  bool
	cancel bool
	signal string
	update lifecycle.TransactionAction
	input  lifecycle.TransactionInput
}

func newChaos(l *chaosRig, p plan) (*chaos, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(tlog.NewStructuredLogger(discard))
	c := &chaos{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), lab: l, plan: p,
		alive: map[int]context.CancelCauseFunc{}, lossIn: map[string]int{}, retried: map[string]int{},
		tally: map[string]int{},
	}
	if err := c.build(); err != nil {
		return nil, err
	}

	c.SetStartTime(time.Now())
	c.SetTestTimeout(10 * time.Minute) // of the machine's time, which may be busy
	c.SetWorkerOptions(worker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{&fate{c: c}},
		DeadlockDetectionTimeout: time.Minute, // the machine may be busy
	})
	stopping := make(chan struct{})
	close(stopping) // the monitor reads once, and then stops for the next worker
	c.SetWorkerStopChannel(stopping)
	c.RegisterWorkflowWithOptions(c.history, workflow.RegisterOptions{Name: "History"})
	c.RegisterWorkflowWithOptions((&transaction.Workflow{Settings: transaction.Settings{
		Attempts: 3, RetryInterval: time.Second, RebroadcastEvery: 10 * time.Second,
		StuckAfter: 1000 * time.Hour,
	}}).Run, workflow.RegisterOptions{Name: lifecycle.TransactionType})
	c.RegisterActivity(c.paymentActivities)
	c.RegisterActivity(c.purchases)
	for name, act := range map[string]any{"read": c.read, "move": c.move, "relieve": c.relieve, "settle": c.settle, "unfinished": c.unfinished} {
		c.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}

	return c, nil
}

func (c *chaos) close() {
	c.stopShop()
	_ = c.fragment.Close()
	_ = c.chain.Close()
}

func (c *chaos) run() {
	c.ExecuteWorkflow("History")
	if err := c.GetWorkflowError(); err != nil {
		c.complain("the history failed: %s", err)
	}
	if err := c.verify(); err != nil {
		c.complain("it cannot be verified: %s", err)
	}
}

const (
	shortLook = 2 * time.Second  // between two reads of the chain when something happens
	longLook  = 15 * time.Second // and when nothing does
	rounds    = 300              // reads, until a history without trouble must have settled
)

// history lets happen what is planned, and then waits until everything has settled.
func (c *chaos) history(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(
		ctx,
		workflow.ActivityOptions{
			StartToCloseTimeout: 10 * time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		},
	)

	drivers := map[string]*driver{}
	over := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		for !over {
			var news bool
			_ = workflow.ExecuteActivity(ctx, "read").Get(ctx, &news)
			c.deliver(ctx, drivers)
			pause := longLook
			if news {
				pause = shortLook
			}
			_ = workflow.Sleep(ctx, pause)
		}
	})

	for i, m := range c.plan.moves {
		_ = workflow.Sleep(ctx, m.after)
		if err := workflow.ExecuteActivity(ctx, "move", i).Get(ctx, nil); err != nil {
			return err
		}
		c.deliver(ctx, drivers)
	}

	_ = workflow.Sleep(ctx, longLook)
	if err := workflow.ExecuteActivity(ctx, "relieve").Get(ctx, nil); err != nil {
		return err
	}

	for range rounds {
		_ = workflow.Sleep(ctx, longLook)
		var settled bool
		if err := workflow.ExecuteActivity(ctx, "settle").Get(ctx, &settled); err != nil {
			return err
		}
		if settled {
			over = true
			return nil
		}
		c.deliver(ctx, drivers)
	}

	return errors.New("it never settles")
}

// driver is a transaction's workflow, over all its runs.
type driver struct{ ends, runs bool }

// deliver sends the pending notifications. A workflow that does not run reads the record when it starts.
//
//workflowcheck:ignore
func (c *chaos) deliver(ctx workflow.Context, drivers map[string]*driver) {
	c.mu.Lock()
	errands := c.errands
	c.errands = nil
	c.mu.Unlock()

	for _, e := range errands {
		id, d := lifecycle.TransactionID(e.hash), drivers[e.hash]
		if (e.start || e.update != "") && (d == nil || d.ends) {
			d = &driver{}
			drivers[e.hash] = d
			workflow.Go(ctx, func(ctx workflow.Context) { c.drive(ctx, e.hash, d) })
			_ = workflow.Await(ctx, func() bool { return d.runs || d.ends })
		}

		switch {
		case d == nil || !d.runs:
		case e.cancel:
			c.CancelWorkflowByID(id, "")
		case e.signal != "":
			_ = c.SignalWorkflowByID(id, e.signal, nil)
		case e.update != "":
			_ = c.UpdateWorkflowByID(id, string(e.update), rand.Text(), answerless{}, e.input)
		}
	}
}

// drive runs a transaction's workflow, and again when it gets lost.
func (c *chaos) drive(ctx workflow.Context, hash string, d *driver) {
	for again := true; again; {
		child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: lifecycle.TransactionID(hash), WaitForCancellation: true,
		}), lifecycle.TransactionType, hash)
		d.runs = child.GetChildWorkflowExecution().Get(ctx, nil) == nil
		err := child.Get(ctx, nil)
		d.runs = false
		if again = err != nil && strings.Contains(err.Error(), lossOfWorkflow); !again {
			_ = workflow.ExecuteActivity(ctx, "unfinished", hash).Get(ctx, &again)
		}
	}

	d.ends = true
}

// unfinished is what the reconciler asks, too: a workflow has ended; was there more to do? Test environments end
// activities after ten tries.
func (c *chaos) unfinished(ctx context.Context, hash string) (bool, error) {
	at, err := c.lab.store.Transactions.SnapshotOf(ctx, hash)
	return at.State == lifecycle.TransactionPending || at.State == lifecycle.TransactionProcessing || at.RefundDue > 0 ||
		at.RetryAt != nil || at.Refund != nil && !at.Refund.Kept, err
}

func (c *chaos) move(_ context.Context, i int) error {
	m := c.plan.moves[i]
	if m.what == "deposit" {
		return c.deposit(m)
	}
	return moves[m.what](c, m)
}

// read makes the monitor read the chain once. It returns whether there was anything new.
func (c *chaos) read(ctx context.Context) (bool, error) {
	seen := len(c.logs.String())
	_ = c.monitor.WatchWallet(ctx, c.wallet.Address().Raw())
	return len(c.logs.String()) > seen, c.observe()
}

func (c *chaos) note(e errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errands = append(c.errands, e)
}

// messenger is Temporal as the monitor sees it.
type messenger struct {
	client.Client
	c *chaos
}

func (m messenger) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	m.c.note(errand{hash: strings.TrimPrefix(id, lifecycle.TransactionID("")), signal: name})
	return nil
}

// answerless is an operator who does not wait for the answer.
type answerless struct{}

func (answerless) Accept()             {}
func (answerless) Reject(error)        {}
func (answerless) Complete(any, error) {}

var errDeath = errors.New("the worker is dead")

const lossOfWorkflow = "this workflow is lost"

// mortal serves a request of the worker, who may die of it.
func (c *chaos) mortal(system http.Handler, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	dies, after := c.deathIn == 1, c.deathAfter
	c.deathIn = max(c.deathIn-1, 0)
	if r.URL.Path == "/api/v3/message" && c.robbery > 0 { // the message's block comes later
		left := c.robbery
		c.robbery = 0
		defer func() { _ = c.lose(left) }()
	}

	c.mu.Unlock()
	if !dies {
		system.ServeHTTP(w, r)
		return
	}

	if after {
		func() {
			defer func() { _ = recover() }() // a fault has cut the connection
			system.ServeHTTP(httptest.NewRecorder(), r)
		}()
	}

	c.mu.Lock()
	c.tally["dead workers"]++
	for _, kill := range c.alive {
		kill(errDeath)
	}

	c.mu.Unlock()
	panic(http.ErrAbortHandler)
}

// fate makes workers die and workflows disappear.
type fate struct {
	interceptor.WorkerInterceptorBase
	c *chaos
}

func (f *fate) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &activityFate{interceptor.ActivityInboundInterceptorBase{Next: next}, f.c}
}

type activityFate struct {
	interceptor.ActivityInboundInterceptorBase
	c *chaos
}

// ExecuteActivity loses the outcome of an activity whose worker dies, as the server sees it.
func (a *activityFate) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	switch activity.GetInfo(ctx).ActivityType.Name {
	case "move", "relieve", "settle", "unfinished":
		return a.Next.ExecuteActivity(ctx, in)
	}

	ctx, kill := context.WithCancelCause(ctx)
	a.c.mu.Lock()
	a.c.tasks++
	task := a.c.tasks
	a.c.alive[task] = kill
	a.c.mu.Unlock()
	defer func() {
		a.c.mu.Lock()
		defer a.c.mu.Unlock()
		delete(a.c.alive, task)
		kill(nil)
	}()

	out, err := a.Next.ExecuteActivity(ctx, in)
	if errors.Is(context.Cause(ctx), errDeath) {
		return nil, temporal.NewHeartbeatTimeoutError()
	}
	return out, err
}

func (f *fate) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &workflowFate{interceptor.WorkflowInboundInterceptorBase{Next: next}, f.c}
}

type workflowFate struct {
	interceptor.WorkflowInboundInterceptorBase
	c *chaos
}

func (w *workflowFate) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	return w.Next.Init(&commandFate{interceptor.WorkflowOutboundInterceptorBase{Next: outbound}, w.c})
}

type commandFate struct {
	interceptor.WorkflowOutboundInterceptorBase
	c *chaos
}

func (f *commandFate) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	f.strike(ctx)
	return f.Next.ExecuteActivity(ctx, activityType, args...)
}

func (f *commandFate) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	f.strike(ctx)
	return f.Next.ExecuteLocalActivity(ctx, activityType, args...)
}

// strike ends a workflow in the middle of what it does: nothing of it is left but the record.
func (f *commandFate) strike(ctx workflow.Context) {
	hash := strings.TrimPrefix(workflow.GetInfo(ctx).WorkflowExecution.ID, lifecycle.TransactionID(""))
	f.c.mu.Lock()
	left := f.c.lossIn[hash]
	f.c.lossIn[hash] = max(left-1, 0)
	if left == 1 {
		f.c.tally["lost workflows"]++
	}

	f.c.mu.Unlock()
	if left == 1 {
		panic(lossOfWorkflow)
	}
}
