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
	"go.temporal.io/sdk/interceptor"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/race"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	record "stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/workflows/transaction"
)

// chaos is one history: a wallet, its chain, its shop and their workflows, in accelerated time.
type chaos struct {
	*testsuite.TestWorkflowEnvironment
	lab       *chaosRig
	began     time.Time
	plan      plan
	chain     *tonsim.TonCenter
	fragment  *tonsim.Fragment
	stopShop  func()
	wallet    *ton.Wallet
	allow     []ton.Address
	toncenter *toncenter.Client
	slots     chan int // of the purchase queue: processes with a free slot
	refunding chan int // … of refunds
	process   func(limited bool) *activities.PaymentActivities
	purchases *activities.Activities
	monitor   *activities.Monitor
	client    operated
	logs      logs
	resumed   bool // settle has ended the pause

	purse sync.Mutex
	lost  int64 // nanoTON removed from the wallet
	safe  bool  // the trouble is over: a robbery whose broadcast is still being answered comes too late

	mu         sync.Mutex
	payers     [2]*activities.PaymentActivities // of two processes, which both serve the wallet's queue
	hashes     []string
	errands    []errand
	problems   []string
	alive      map[int]*attempt // activities currently held by a worker
	over       bool             // the history has ended
	zombies    sync.WaitGroup   // attempts of workers that were lost but are not dead
	tasks      int              // activities so far
	deathIn    int              // requests until the worker dies; 0: it lives
	frozenIn   int              // requests until the worker freezes, and counts as lost; 0: it does not
	stopIn     int              // requests until the worker stops, as for a new version; 0: it does not
	pauseIn    int              // requests until an operator pauses the activity and continues it; 0: never
	deathAfter bool             // after the request was answered, instead of before
	blind      int              // reads of the chain that the monitor skips
	robbery    int64            // nanoTON left in the wallet after the next broadcast; 0: all
	lossIn     map[string]int   // commands until a workflow is lost
	retried    map[string]int   // by the operator, at the end
	tally      map[string]int   // what has happened, to check that it does
}

// errand is a pending notification of a workflow.
type errand struct {
	hash   string
	start  bool
	cancel bool
	signal string
	at     any // the signal's content
	update lifecycle.TransactionAction
	input  lifecycle.TransactionInput
}

func newChaos(l *chaosRig, p plan) (*chaos, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(tlog.NewStructuredLogger(discard))
	c := &chaos{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), lab: l, plan: p, began: time.Now(),
		alive: map[int]*attempt{}, lossIn: map[string]int{}, retried: map[string]int{},
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
	c.RegisterWorkflowWithOptions(c.history, workflow.RegisterOptions{Name: "History"})
	c.RegisterWorkflowWithOptions((&transaction.Workflow{Settings: transaction.Settings{
		StuckAfter: 1000 * time.Hour,
	}}).Run, workflow.RegisterOptions{Name: lifecycle.TransactionType})
	c.RegisterActivityWithOptions(c.pay, activity.RegisterOptions{Name: "Pay"})
	c.RegisterActivityWithOptions(c.refund, activity.RegisterOptions{Name: "Refund"})
	c.RegisterActivity(c.payers[0].Confirm)
	c.RegisterActivity(c.payers[0].ProveRefund)
	c.RegisterActivity(c.purchases)
	for name, act := range map[string]any{"read": c.read, "move": c.move, "relieve": c.relieve, "settle": c.settle, "unfinished": c.unfinished} {
		c.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}

	return c, nil
}

// speed is how many times faster than the machine's the chain's time runs. The time of a payment must be enough to
// broadcast it, which takes three times as long with the race detector.
var speed = func() time.Duration {
	if race.Enabled {
		return 7
	}
	return 20
}()

// Now is the chain's time.
func (c *chaos) Now() time.Time { return c.began.Add(time.Since(c.began) * speed) }

func (c *chaos) close() {
	c.stopShop()
	_ = c.fragment.Close()
	_ = c.chain.Close()
}

func (c *chaos) run() {
	c.ExecuteWorkflow("History")
	err := c.GetWorkflowError()
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	if err != nil { // nothing that an attempt may wait for can happen now
		c.killAll()
	}

	late := time.AfterFunc(wait.Patience, func() {
		c.complain("all has settled, but an attempt does not end")
		c.killAll()
	})
	c.zombies.Wait()
	late.Stop()
	if err != nil {
		c.complain("the history failed: %s", err)
	}
	if err := c.verify(); err != nil {
		c.complain("it cannot be verified: %s", err)
	}
}

// killAll kills the workers of all attempts.
func (c *chaos) killAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.alive {
		a.kill(errDeath)
	}
}

const (
	look   = 40 * time.Millisecond // between two reads of the chain
	settle = 80 * time.Millisecond // between two checks of what is left to do
	rounds = 1000                  // checks, until a history without trouble must have settled
)

// history runs the plan, and then waits until everything has settled.
func (c *chaos) history(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(
		ctx,
		workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, // the monitor's last minute: it reads once
			RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		},
	)

	drivers := map[string]*driver{}
	over := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		for !over {
			_ = workflow.ExecuteActivity(ctx, "read").Get(ctx, nil)
			c.deliver(ctx, drivers)
			_ = workflow.Sleep(ctx, look)
		}
	})

	for i, m := range c.plan.moves {
		_ = workflow.Sleep(ctx, m.after/speed)
		if err := workflow.ExecuteActivity(ctx, "move", i).Get(ctx, nil); err != nil {
			return err
		}
		c.deliver(ctx, drivers)
	}

	_ = workflow.Sleep(ctx, settle)
	if err := workflow.ExecuteActivity(ctx, "relieve").Get(ctx, nil); err != nil {
		return err
	}

	for range rounds {
		_ = workflow.Sleep(ctx, settle)
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
			_ = c.SignalWorkflowByID(id, e.signal, e.at)
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

// unfinished is also the reconciler's question: a workflow has ended; was there more to do? Test environments end
// activities after ten attempts.
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

// read makes the monitor read the chain once.
func (c *chaos) read(ctx context.Context) error {
	c.mu.Lock()
	blind := c.blind > 0
	c.blind = max(c.blind-1, 0)
	c.mu.Unlock()
	if blind {
		return nil
	}
	_ = c.monitor.WatchWallet(ctx, c.wallet.Address().Raw())
	return c.observe()
}

// pay buys in one of the two processes. Each of them has one slot for the queue.
func (c *chaos) pay(ctx context.Context, o activities.Order) (record.Snapshot, error) {
	i := <-c.slots
	defer func() { c.slots <- i }()
	return c.processes()[i].Pay(ctx, o)
}

// refund refunds in one of the two processes, which have one slot for that, too.
func (c *chaos) refund(ctx context.Context, o activities.Order) (record.Snapshot, error) {
	i := <-c.refunding
	defer func() { c.refunding <- i }()
	return c.processes()[i].Refund(ctx, o)
}

func (c *chaos) processes() [2]*activities.PaymentActivities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.payers
}

func (c *chaos) note(e errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errands = append(c.errands, e)
}

// SignalWorkflow receives an attempt's notifications of its workflow.
func (c *chaos) SignalWorkflow(_ context.Context, workflowID, _, signal string, at any) error {
	c.note(errand{hash: strings.TrimPrefix(workflowID, lifecycle.TransactionID("")), signal: signal, at: at})
	return nil
}

// answerless is an operator who does not wait for the answer.
type answerless struct{}

func (answerless) Accept()             {}
func (answerless) Reject(error)        {}
func (answerless) Complete(any, error) {}

var errDeath = errors.New("the worker is dead")

// frozenFor is how long a frozen worker stands still.
const frozenFor = 150 * time.Millisecond

const lossOfWorkflow = "this workflow is lost"

// mortal serves a request of the worker, which may kill the worker.
func (c *chaos) mortal(system http.Handler, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	dies, after, freezes := c.deathIn == 1, c.deathAfter, c.frozenIn == 1
	stops, paused := c.stopIn == 1, c.pauseIn == 1
	c.deathIn, c.frozenIn = max(c.deathIn-1, 0), max(c.frozenIn-1, 0)
	c.stopIn, c.pauseIn = max(c.stopIn-1, 0), max(c.pauseIn-1, 0)
	if r.URL.Path == "/api/v3/message" && c.robbery > 0 { // the message's block comes later
		left := c.robbery
		c.robbery = 0
		defer func() { _ = c.lose(left) }()
	}

	if freezes {
		c.tally["zombies"]++
		for _, a := range c.alive {
			a.lose()
		}
	}

	for _, a := range c.alive {
		switch {
		case stops:
			a.stop()
			c.tally["stopped workers"]++
		case paused && a.pays:
			a.kill(activity.ErrActivityPaused)
			c.tally["paused activities"]++
		}
	}

	c.mu.Unlock()
	if freezes { // others take over meanwhile
		time.Sleep(frozenFor)
	}
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
	c.mu.Unlock()
	c.killAll()
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

func (a *activityFate) Init(outbound interceptor.ActivityOutboundInterceptor) error {
	return a.Next.Init(&stopFate{interceptor.ActivityOutboundInterceptorBase{Next: outbound}})
}

// stopFate notifies an activity that its worker is stopping.
type stopFate struct {
	interceptor.ActivityOutboundInterceptorBase
}

type stoppedKey struct{}

func (f *stopFate) GetWorkerStopChannel(ctx context.Context) <-chan struct{} {
	if stopped, ok := ctx.Value(stoppedKey{}).(chan struct{}); ok {
		return stopped
	}
	return f.Next.GetWorkerStopChannel(ctx)
}

// ExecuteActivity loses the outcome of an activity whose worker dies, from the server's view.
func (a *activityFate) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	name := activity.GetInfo(ctx).ActivityType.Name
	switch name {
	case "move", "relieve", "settle", "unfinished":
		return a.Next.ExecuteActivity(ctx, in)
	}

	ctx, kill := context.WithCancelCause(ctx)
	lost, stopped := make(chan struct{}), make(chan struct{})
	ctx = context.WithValue(ctx, stoppedKey{}, stopped)
	a.c.mu.Lock()
	if a.c.over { // an abandoned attempt
		a.c.mu.Unlock()
		kill(nil)
		return nil, errDeath
	}
	a.c.zombies.Add(1)
	a.c.tasks++
	task := a.c.tasks
	a.c.alive[task] = &attempt{
		kill: kill, lose: sync.OnceFunc(func() { close(lost) }), stop: sync.OnceFunc(func() { close(stopped) }),
		pays: name == "Pay" || name == "Refund",
	}
	a.c.mu.Unlock()

	type result struct {
		out any
		err error
	}
	ended := make(chan result, 1)
	go func() {
		defer a.c.zombies.Done()
		out, err := a.Next.ExecuteActivity(ctx, in)
		a.c.mu.Lock()
		delete(a.c.alive, task)
		a.c.mu.Unlock()
		ended <- result{out, err}
		kill(nil)
	}()

	select {
	case <-lost: // and it continues
		return nil, temporal.NewHeartbeatTimeoutError()
	case r := <-ended:
		if errors.Is(context.Cause(ctx), errDeath) {
			return nil, temporal.NewHeartbeatTimeoutError()
		}
		return r.out, r.err
	}
}

// attempt is an activity held by a worker.
type attempt struct {
	kill context.CancelCauseFunc
	lose func() // the server no longer hears from it
	stop func() // its worker is stopping
	pays bool
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

// strike ends a workflow midway: only the record is left.
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
