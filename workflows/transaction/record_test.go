package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store"
	"stagecoach/internal/store/transaction"
)

// TestRecordAgreesWithRules brings transactions into every possible situation and does everything to each: the record
// allows what the table allows, with the table's result, and refuses or ignores the rest.
func TestRecordAgreesWithRules(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	type verb struct {
		action lifecycle.TransactionAction
		to     lifecycle.TransactionState
	}

	cases, all := 0, testdb.New(t)
	for name, bring := range situations {
		for _, v := range []verb{
			{"lock", "processing"},
			{"finish", "processed"},
			{"fail", "failed"},
			{"retry", "processing"},
			{"resolve", "processed"},
			{"resolve", "failed"},
			{"resolve", "processing"},
			{"write_off", "failed"},
		} {
			cases++
			r := newRecord(t, all, cases)
			bring(r)
			before, err := r.store.Transactions.SnapshotOf(t.Context(), r.hash)
			r.must(err)
			after, err := r.do(v.action, v.to, before.Attempt)
			request := lifecycle.TransactionRequest{
				Action: v.action, To: v.to, Roles: []lifecycle.Role{lifecycle.Admin, lifecycle.System},
			}
			if v.action == lifecycle.TransactionActionLock && before.State == lifecycle.TransactionFailed { // the planned retry
				request.Action, request.Roles = lifecycle.TransactionActionRetry, []lifecycle.Role{lifecycle.System}
			}
			from := before.State
			if v.action == lifecycle.TransactionActionFail && from == lifecycle.TransactionPending { // two steps in one change
				from = lifecycle.TransactionProcessing
			}
			rule, refusal := lifecycle.Transaction.Decide(from, request, before.Facts())

			switch {
			case refusal == nil && (err != nil || after.State != rule.To):
				t.Errorf("%s: %s to %s is allowed, but gave %s, %v", name, v.action, v.to, after.State, err)
			case refusal != nil && err == nil && after.State != before.State:
				t.Errorf("%s: %s to %s is not allowed, but led to %s", name, v.action, v.to, after.State)
			case refusal != nil && err != nil && !slices.Contains(refusals, fault.CodeOf(err)):
				t.Errorf("%s: %s to %s: %v", name, v.action, v.to, err)
			}
		}
	}

	t.Logf("%d cases", cases)
}

// refusals are the record's answers if the table does not allow an action. Of them NO_TURN is for attempts to buy.
var refusals = []fault.Code{fault.InvalidTransition, fault.PaymentUndecided, fault.NoTurn}

// situations are all the situations of a transaction.
var situations = map[string]func(*recordRig){
	"pending":                            func(*recordRig) {},
	"processing":                         func(r *recordRig) { r.lock() },
	"pending, in review for its deposit": func(r *recordRig) { r.dispute() },
	"signed":                             func(r *recordRig) { r.lock(); r.sign() },
	"paid":                               func(r *recordRig) { r.lock(); r.sign(); r.pay() },
	"paid, kept":                         func(r *recordRig) { r.lock(); r.sign(); r.pay(); r.keep(true) },
	"bounced":                            func(r *recordRig) { r.lock(); r.sign(); r.pay(); r.keep(false) },
	"dead":                               func(r *recordRig) { r.lock(); r.sign(); r.die() },
	"paid, in review":                    func(r *recordRig) { r.lock(); r.sign(); r.pay(); r.review() },
	"in review":                          func(r *recordRig) { r.lock(); r.review() },
	"in review for its deposit":          func(r *recordRig) { r.lock(); r.dispute() },
	"accepted by an operator":            func(r *recordRig) { r.lock(); r.dispute(); r.resolve("processing") },
	"failed, in review for its deposit":  func(r *recordRig) { r.lock(); r.owe(); r.dispute() },
	"failed, retryable":                  func(r *recordRig) { r.lock(); r.fail(stars.Network) },
	"failed, to be retried":              func(r *recordRig) { r.lock(); r.plan() },
	"failed, unknown":                    func(r *recordRig) { r.lock(); r.fail(stars.Unexplained) },
	"failed, non-retryable":              func(r *recordRig) { r.lock(); r.fail(stars.InvalidUsername) },
	"failed, after a dead payment":       func(r *recordRig) { r.lock(); r.sign(); r.die(); r.fail(stars.WalletRefused) },
	"failed, paid late":                  func(r *recordRig) { r.lock(); r.sign(); r.die(); r.fail(stars.WalletRefused); r.pay() },
	"retried":                            func(r *recordRig) { r.lock(); r.fail(stars.Network); r.retry() },
	"processed":                          func(r *recordRig) { r.lock(); r.sign(); r.pay(); r.keep(true); r.finish() },
	"failed, owed":                       func(r *recordRig) { r.lock(); r.owe() },
	"failed, refund signed":              func(r *recordRig) { r.lock(); r.owe(); r.refund() },
	"failed, written off":                func(r *recordRig) { r.lock(); r.owe(); r.take(r.do("write_off", "", r.attempt)) },
	"resolved as failed":                 func(r *recordRig) { r.lock(); r.sign(); r.pay(); r.review(); r.resolve("failed") },
}

// recordRig is one wallet with one transaction, and a scripted chain.
type recordRig struct {
	*testing.T
	store   *store.Store
	number  int
	wallet  string
	now     time.Time
	hash    string
	lt      int64
	last    string
	attempt int
	request int64 // the number of the last request to Fragment
	payment transaction.Payment
}

// newRecord returns a new wallet with a pending transaction.
func newRecord(t *testing.T, s *store.Store, number int) *recordRig {
	t.Helper()
	r := &recordRig{T: t, store: s, now: time.Now().Truncate(time.Second), number: number}
	r.wallet = "0:" + r.digest("wallet")
	_, err := s.Transactions.OpenWallet(t.Context(), r.wallet, transaction.WalletStart{})
	r.must(err)
	r.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, Deposit: true, Comment: "durov 50",
		In: transaction.InMessage{Hash: r.digest("in"), Source: "0:" + r.digest("sender"), Nano: 1_000_000_000},
	}, r.now)
	r.hash = r.last
	return r
}

func (r *recordRig) digest(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(r.number, of)))
	return hex.EncodeToString(sum[:])
}

func (r *recordRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// happens advances the chain by one transaction of the wallet, to a moment.
func (r *recordRig) happens(t transaction.ChainTransaction, until time.Time) {
	r.Helper()
	var page []transaction.ChainTransaction
	if t.In.Hash != "" {
		t.PrevLT, t.PrevHash = r.lt, r.last
		r.lt += 10
		r.last = r.digest("chain", r.lt)
		t.LT, t.Hash, t.At = r.lt, r.last, r.now
		page = append(page, t)
	}

	_, err := r.store.Transactions.IngestChain(r.Context(), r.wallet, page, until)
	r.must(err)
}

func (r *recordRig) take(s transaction.Snapshot, err error) {
	r.Helper()
	r.must(err)
	r.attempt = s.Attempt
}

// lock begins an attempt to buy: the order enters processing.
func (r *recordRig) lock() {
	snapshot, err := r.begin()
	r.take(snapshot, err)
}

func (r *recordRig) begin() (transaction.Snapshot, error) {
	snapshot, number, err := r.store.Transactions.Begin(r.Context(), transaction.Beginning{
		Claim: r.claim(), By: "this attempt", Quote: transaction.Quote{Username: "durov", Stars: 50, PriceNano: 460_900_000, Recipient: "x"},
	})
	if err == nil {
		r.request = number
	}
	return snapshot, err
}

// claim is the claim of the recorded attempt.
func (r *recordRig) claim() transaction.Claim {
	row, err := r.store.Transactions.ByHash(r.Context(), r.hash)
	r.must(err)
	return transaction.Claim{Hash: r.hash, Attempt: row.Attempt, TakenBy: row.TakenBy}
}

func (r *recordRig) sign() {
	var err error
	r.payment, err = r.store.Transactions.SignPayment(r.Context(), transaction.PaymentOrder{
		BodyHash: r.digest("body"),
		Claim:    r.claim(), Kind: transaction.Purchase, Destination: "0:" + r.digest("shop"), AmountNano: 460_900_000,
		GasNano: 1000, RequestNumber: r.request,
	}, transaction.Limits{}, func(seqno uint32) (transaction.Signed, error) {
		return transaction.Signed{
			BoC: []byte("order"), HashNorm: r.digest("norm", seqno),
			ValidUntil: r.now.Add(time.Minute),
		}, nil
	})

	r.must(err)
}

func (r *recordRig) pay() {
	r.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, In: transaction.InMessage{Hash: r.digest("ext"), HashNorm: r.payment.HashNorm},
		Out: []transaction.OutMessage{
			{Hash: r.digest("out"), Destination: r.payment.Destination, Nano: r.payment.AmountNano, BodyHash: r.payment.BodyHash},
		},
	}, r.now)
}

func (r *recordRig) keep(kept bool) {
	d := transaction.Destination{Kept: kept}
	if !kept {
		d.ReturnedNano = 400_000_000
	}
	_, err := r.store.Transactions.SettleDestination(r.Context(), r.payment, d)
	r.must(err)
}

func (r *recordRig) die() {
	r.now = r.now.Add(2 * time.Minute)
	r.happens(transaction.ChainTransaction{}, r.now)
}

func (r *recordRig) review() {
	r.take(r.store.Transactions.Review(r.Context(), r.hash, r.attempt, "test"))
}

func (r *recordRig) dispute() {
	r.take(r.store.Transactions.ReviewPayment(r.Context(), r.hash, transaction.Limits{ReviewFrom: 1}))
}

func (r *recordRig) fail(f *stars.Failure) {
	r.take(r.store.Transactions.Fail(
		r.Context(),
		transaction.Failure{Claim: r.claim(), Message: f.Message, Class: f.Class},
	))
}

// plan fails the order, and plans a retry.
func (r *recordRig) plan() {
	r.take(r.store.Transactions.Fail(r.Context(), transaction.Failure{
		Claim: r.claim(), Message: stars.Network.Message, Class: lifecycle.Retryable,
		Retry: transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond},
	}))
	time.Sleep(5 * time.Millisecond) // it becomes due
}

func (r *recordRig) owe() {
	r.take(r.store.Transactions.Fail(r.Context(), transaction.Failure{
		Claim: r.claim(), Message: stars.InvalidUsername.Message, Class: lifecycle.NonRetryable, Refund: true,
	}))
}

func (r *recordRig) refund() {
	var err error
	r.payment, err = r.store.Transactions.SignPayment(r.Context(), transaction.PaymentOrder{
		BodyHash: r.digest("body"),
		Claim:    transaction.Claim{Hash: r.hash}, Kind: transaction.Refund, Destination: "0:" + r.digest("sender"), AmountNano: 900_000_000,
		GasNano: 1000,
	}, transaction.Limits{}, func(seqno uint32) (transaction.Signed, error) {
		return transaction.Signed{
			BoC: []byte("order"), HashNorm: r.digest("norm", seqno),
			ValidUntil: r.now.Add(time.Minute),
		}, nil
	})

	r.must(err)
}

func (r *recordRig) retry()  { r.take(r.do("retry", "", r.attempt)) }
func (r *recordRig) finish() { r.take(r.do("finish", "", r.attempt)) }

func (r *recordRig) resolve(to lifecycle.TransactionState) { r.take(r.do("resolve", to, r.attempt)) }

// do requests an action from the record.
func (r *recordRig) do(
	action lifecycle.TransactionAction, to lifecycle.TransactionState, attempt int,
) (transaction.Snapshot, error) {
	ctx := r.Context()
	wanted := transaction.Request{Hash: r.hash, Attempt: attempt}
	switch action {
	case lifecycle.TransactionActionLock:
		return r.begin()
	case lifecycle.TransactionActionFinish:
		return r.store.Transactions.Finish(ctx, r.hash, attempt, true)
	case lifecycle.TransactionActionFail:
		return r.store.Transactions.Fail(
			ctx, transaction.Failure{Claim: r.claim(), Message: stars.Network.Message, Class: lifecycle.Retryable},
		)
	case lifecycle.TransactionActionRetry:
		return r.store.Transactions.Retry(ctx, wanted)
	case lifecycle.TransactionActionWriteOff:
		return r.store.Transactions.WriteOffRefund(ctx, wanted)
	default:
		return r.store.Transactions.Resolve(ctx, wanted, to, stars.Unconfirmed.Message)
	}
}

// TestFailuresAreCounted makes sure that the statistics' SQL and the table of failures agree about every message.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	all, want := testdb.New(t), map[string]int64{}
	for i, f := range append(stars.Failures, stars.Named("Service unavailable: Fragment API returned 502"), stars.Named("something new")) {
		r := newRecord(t, all, i)
		r.lock()
		r.fail(f)
		want[f.Message] = 1
		want[string(stars.CategoryOf(f.Message))]++
	}

	testdb.Recount(t, all)
	stats, err := all.Transactions.Stats(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]int64{}
	for _, c := range stats.Categories {
		got[c.Category] = c.Count
	}

	for _, c := range stats.Errors {
		got[c.Message] = c.Count
	}

	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
