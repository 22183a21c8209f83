package rest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// transactionsStub is a Temporal whose transaction workflows decide at once.
type transactionsStub struct {
	*temporalStub
	store *store.Store
}

func (s *transactionsStub) NewWithStartWorkflowOperation(
	client.StartWorkflowOptions, any, ...any,
) client.WithStartWorkflowOperation {
	return nil
}

func (s *transactionsStub) UpdateWithStartWorkflow(
	ctx context.Context, o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}

	hash := strings.TrimPrefix(o.UpdateOptions.WorkflowID, "transaction/")
	in := o.UpdateOptions.Args[0].(lifecycle.TransactionInput)
	t, err := s.store.Transactions.ByHash(ctx, hash)
	if err != nil {
		return nil, err
	}

	request := transaction.Request{
		Hash: hash, Attempt: t.Attempt, ActorID: &in.Actor, RequestID: o.UpdateOptions.UpdateID, Comment: in.Comment,
	}

	switch lifecycle.TransactionAction(o.UpdateOptions.UpdateName) {
	case lifecycle.TransactionActionRetry:
		_, err = s.store.Transactions.Retry(ctx, request)
	case lifecycle.TransactionActionReview:
		_, err = s.store.Transactions.AskReview(ctx, request)
	case lifecycle.TransactionActionWriteOff:
		_, err = s.store.Transactions.WriteOffRefund(ctx, request)
	default:
		_, err = s.store.Transactions.Resolve(ctx, request, in.Outcome, "the operator says so")
	}

	if refusal := fault.As(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return moved{err: err}, nil
}

// moved is the outcome of an update of a transaction.
type moved struct {
	client.WorkflowUpdateHandle
	err error
}

func (m moved) Get(context.Context, any) error { return m.err }

// chainStub reports what the wallet holds.
type chainStub struct {
	mu       sync.Mutex
	lt, nano int64
	fails    error
}

func (c *chainStub) balance(context.Context, string) (lt, nano int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lt, c.nano, c.fails
}

func (c *chainStub) set(lt, nano int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lt, c.nano = lt, nano
}

func (c *chainStub) failing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fails
}

func (c *chainStub) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = err
}

const coin int64 = 1_000_000_000 // nanoTON

var (
	ourWallet = "0:" + hashOf("our wallet")
	customer  = "0:" + hashOf("customer")
	shop      = "0:" + hashOf("shop")
)

func hashOf(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(of...)))
	return hex.EncodeToString(sum[:])
}

// bank is a wallet's history.
type bank struct {
	*rig
	last transaction.ChainTransaction
}

func (w *rig) bank() *bank {
	w.t.Helper()
	if _, err := w.store.Transactions.OpenWallet(w.t.Context(), ourWallet, transaction.WalletStart{}); err != nil {
		w.t.Fatal(err)
	}
	return &bank{rig: w, last: transaction.ChainTransaction{At: time.Now().Truncate(time.Second)}}
}

func (b *bank) happens(t transaction.ChainTransaction) transaction.ChainTransaction {
	b.t.Helper()
	t.PrevLT, t.PrevHash, t.LT, t.At = b.last.LT, b.last.Hash, b.last.LT+10, b.last.At.Add(time.Second)
	t.Hash = hashOf("chain", t.LT)
	t.In.Hash, t.ComputeOK, t.ActionOK = hashOf("in", t.LT), true, true
	if _, err := b.store.Transactions.IngestChain(b.t.Context(), ourWallet, []transaction.ChainTransaction{t}, t.At); err != nil {
		b.t.Fatal(err)
	}
	b.last = t
	return t
}

// deposit creates a pending transaction of 2 TON and returns its hash.
func (b *bank) deposit() string {
	b.t.Helper()
	return b.happens(transaction.ChainTransaction{
		In: transaction.InMessage{Source: customer, Nano: 2 * coin}, Deposit: true, Comment: "durov 50", Username: "durov", Stars: 50,
	}).Hash
}

func (b *bank) must(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// begun creates a transaction in processing, and returns the claim of the attempt to buy it.
func (b *bank) begun() (claim transaction.Claim, request int64) {
	b.t.Helper()
	hash := b.deposit()
	at, request, err := b.store.Transactions.Begin(b.t.Context(), transaction.Beginning{
		Claim: transaction.Claim{Hash: hash}, By: "attempt of " + hash,
		Quote: transaction.Quote{Username: "durov", Stars: 50, PriceNano: coin, Recipient: "r"},
	})
	b.must(at, err)
	return transaction.Claim{Hash: hash, Attempt: at.Attempt, TakenBy: "attempt of " + hash}, request
}

// processing creates a transaction that is priced and in processing. It leaves room for another one's request.
func (b *bank) processing() string {
	b.t.Helper()
	claim, _ := b.begun()
	b.exec(`UPDATE ton_wallets SET request_of = NULL, requested_at = NULL`)
	return claim.Hash
}

// failed creates a failed transaction.
func (b *bank) failed(message string, class lifecycle.ErrorClass) string {
	b.t.Helper()
	claim, _ := b.begun()
	b.must(b.store.Transactions.Fail(b.t.Context(), transaction.Failure{Claim: claim, Message: message, Class: class}))
	return claim.Hash
}

// signed creates a transaction whose purchase is signed.
func (b *bank) signed() (hash string, payment transaction.Payment) {
	b.t.Helper()
	claim, request := b.begun()
	payment, err := b.store.Transactions.SignPayment(b.t.Context(), transaction.PaymentOrder{
		BodyHash: hashOf("body"),
		Claim:    claim, RequestNumber: request, Kind: transaction.Purchase, Destination: shop, AmountNano: coin, GasNano: coin / 100,
	}, transaction.Limits{}, func(seqno uint32) (transaction.Signed, error) {
		return transaction.Signed{
			BoC: []byte{1}, HashNorm: hashOf("message", claim.Hash), ValidUntil: b.last.At.Add(time.Hour),
		}, nil
	})

	b.must(payment, err)
	return claim.Hash, payment
}

// paid creates a transaction whose purchase is on the chain, kept by its receiver.
func (b *bank) paid() (hash string, payment transaction.Payment) {
	b.t.Helper()
	hash, payment = b.signed()
	b.happens(transaction.ChainTransaction{
		In: transaction.InMessage{HashNorm: payment.HashNorm}, FeeNano: coin / 1000,
		Out: []transaction.OutMessage{{Hash: hashOf("out", hash), Destination: shop, Nano: coin, BodyHash: payment.BodyHash}},
	})
	b.must(b.store.Transactions.SettleDestination(b.t.Context(), payment, transaction.Destination{Kept: true}))
	return hash, payment
}

// processed creates a successful transaction.
func (b *bank) processed() string {
	b.t.Helper()
	hash, _ := b.paid()
	b.must(b.store.Transactions.Finish(b.t.Context(), hash, 1, true))
	return hash
}

// inReview creates a transaction that was paid and needs review.
func (b *bank) inReview() string {
	b.t.Helper()
	hash, _ := b.paid()
	b.must(b.store.Transactions.Review(b.t.Context(), hash, 1, "not_confirmed"))
	return hash
}
