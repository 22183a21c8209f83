package transactions

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

type listQueueInput struct {
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Number of items"`
}

type pauseInput struct {
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"The wallet is being moved"`
	} `nameHint:"PaymentsPause"`
}

type reconcileInput struct {
	Body *struct {
		Purchases []shape.Purchase `json:"purchases,omitempty" maxItems:"10000" doc:"Everything that Fragment has sold; omitted: Fragment is not compared"`
	} `nameHint:"ReconciliationRequest"`
}

// registerPayments adds the operations on payments.
func (h *handlers) registerPayments() {
	payments := server.Group{
		Server: h.Server, Tag: "Payments", Access: server.ForAdmins, Scope: account.ScopeOperate,
		Faults: []fault.Code{fault.NotConfigured},
	}

	server.Register(payments, server.Operation{
		Id: "get-payment-queue", Route: "GET /v1/payments/queue",
		Summary: "List orders waiting for the wallet and what stops payments",
	}, h.getQueue)

	server.Register(payments, server.Operation{
		Id: "pause-payments", Route: "POST /v1/payments/pause", Confirms: true, Scope: lifecycle.TransactionScope,
		Summary:     "Stop all payments",
		Description: "Once this returns, nothing more is signed. Payments already signed are still tracked to their outcome.",
	}, h.pausePayments)

	server.Register(payments, server.Operation{
		Id: "resume-payments", Route: "POST /v1/payments/resume", Confirms: true, Scope: lifecycle.TransactionScope,
		Summary: "Resume payments, ending a pause and an automatic hold",
	}, h.resumePayments)

	server.Register(payments, server.Operation{
		Id: "get-ledger", Route: "GET /v1/payments/ledger",
		Summary: "Get the balances of the ledger: where the money is and where it came from",
	}, h.getLedger)

	server.Register(payments, server.Operation{
		Id: "get-solvency", Route: "GET /v1/payments/solvency",
		Summary:     "Compare the wallet's balance on the chain with the ledger",
		Description: "The chain is read at most every few seconds, however many callers ask. If the chain does not respond, only the ledger's side is returned.",
	}, h.getSolvency)

	server.Register(payments, server.Operation{
		Id: "reconcile-payments", Route: "POST /v1/payments/reconcile",
		Summary:     "Compare the ledger with the record, the chain and Fragment's purchases",
		Description: "Read-only.",
		Faults: []fault.Code{
			fault.ChainUnauthorized, fault.ChainUnavailable, fault.ChainProtocol, fault.ChainClock,
		},
	}, h.reconcilePayments)
}

func (h *handlers) getQueue(ctx context.Context, in *listQueueInput) (none shape.Queue, err error) {
	queue, err := h.transactions.Queue(ctx, in.Limit)
	if err != nil {
		return none, err
	}
	return shape.Queue{Switches: switchesFrom(queue.Switches), Items: shape.List(queue.Line, turnFrom)}, nil
}

func turnFrom(q transaction.QueueEntry) shape.Turn {
	return shape.Turn{
		Place: q.Place, Hash: q.TransactionHash, Kind: string(q.Kind), Sender: q.Sender, AskedAt: q.AskedAt.UTC(),
		GrantedAt: shape.OptionalTime(q.GrantedAt), NotBefore: shape.OptionalTime(q.NotBefore),
	}
}

func (h *handlers) pausePayments(ctx context.Context, in *pauseInput) (shape.Switches, error) {
	return h.switched(ctx, h.transactions.Pause(ctx, server.Caller(ctx), shape.Value(in.Body).Reason))
}

func (h *handlers) resumePayments(ctx context.Context, _ *struct{}) (shape.Switches, error) {
	return h.switched(ctx, h.transactions.Resume(ctx))
}

// switched responds with the state of the switches after a change to one of them.
func (h *handlers) switched(ctx context.Context, err error) (shape.Switches, error) {
	if err != nil {
		return shape.Switches{}, err
	}

	h.Done(ctx, "")
	switches, err := h.transactions.Switches(ctx)
	return server.Shown(switches, err, switchesFrom)
}

func (h *handlers) getLedger(ctx context.Context, _ *struct{}) (shape.Ledger, error) {
	report, err := h.transactions.Ledger(ctx)
	return server.Shown(report, err, ledgerFrom)
}

func (h *handlers) getSolvency(ctx context.Context, _ *struct{}) (shape.Solvency, error) {
	solvency, err := h.transactions.Solvency(ctx)
	return server.Shown(solvency, err, solvencyFrom)
}

func solvencyFrom(s transactions.Solvency) shape.Solvency {
	body := shape.Solvency{
		Ledger: ledgerFrom(s.LedgerReport), ChainNano: s.ChainNano, Compared: s.Chain,
		ReadAt: shape.OptionalTime(s.ReadAt), Failure: shape.Optional(string(s.Failure)),
	}

	for _, b := range s.Balances {
		if b.Account == transaction.AccountWallet {
			body.LedgerNano = b.BalanceNano
		}
	}

	if s.ReadAt != nil {
		age := time.Since(*s.ReadAt).Seconds()
		body.AgeSeconds = &age
	}

	if s.Chain { // then both sides are from the same moment
		difference := int64(0)
		for _, d := range s.Differences {
			difference += d.Want - d.Got
		}
		body.DifferenceNano, body.LedgerNano = &difference, *s.ChainNano-difference
	}

	return body
}

func (h *handlers) reconcilePayments(ctx context.Context, in *reconcileInput) (none shape.Reconciliation, err error) {
	var sold []transactions.FragmentPurchase
	if purchases := shape.Value(in.Body).Purchases; purchases != nil {
		sold = shape.List(purchases, func(p shape.Purchase) transactions.FragmentPurchase {
			return transactions.FragmentPurchase{PaymentHash: p.PaymentHash, Stars: p.Stars, PaidNano: p.PaidNano}
		})
	}

	report, err := h.transactions.Reconcile(ctx, sold)
	if err != nil {
		return none, err
	}
	return shape.Reconciliation{
		Ledger: ledgerFrom(report), ChainCompared: report.Chain, PurchasesCompared: report.Purchases,
		Differences: shape.List(
			report.Differences, func(d transaction.Difference) shape.Difference { return shape.Difference(d) },
		),
	}, nil
}

func ledgerFrom(r transactions.LedgerReport) shape.Ledger {
	balances := shape.List(r.Balances, func(b transaction.Balance) shape.Balance {
		return shape.Balance{Account: string(b.Account), BalanceNano: b.BalanceNano}
	})
	return shape.Ledger{Wallet: r.Wallet, ScannedTo: shape.OptionalTime(r.ScannedTo), Balances: balances}
}

func switchesFrom(s transaction.Switches) shape.Switches {
	return shape.Switches{Pause: switchFrom(s.Pause), Hold: switchFrom(s.Hold)}
}

func switchFrom(s transaction.Switch) *shape.Switch {
	if !s.On() {
		return nil
	}
	return &shape.Switch{
		Since: s.Since.UTC(), Reason: s.Reason, UserID: shape.OptionalID(s.ByUser),
	}
}
