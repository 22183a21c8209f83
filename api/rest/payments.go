package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

type listQueueInput struct {
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many items to give"`
}

type pauseInput struct {
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"The wallet is being moved"`
	} `nameHint:"PaymentsPause"`
}

type reconcileInput struct {
	Body *struct {
		Purchases []shape.Purchase `json:"purchases,omitempty" maxItems:"10000" doc:"All that Fragment has sold; when left out Fragment is not compared"`
	} `nameHint:"ReconciliationRequest"`
}

var (
	getQueue = operation{
		id: "get-payment-queue", method: http.MethodGet, path: "/v1/payments/queue", tag: "Payments", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "Who waits for the wallet's turn, and what stops payments", faults: []fault.Code{fault.NotConfigured},
	}
	pausePayments = operation{
		id: "pause-payments", method: http.MethodPost, path: "/v1/payments/pause", tag: "Payments", access: forAdmins,
		scope:   store.ScopeMoney,
		summary: "Stop all payments", faults: []fault.Code{fault.NotConfigured},
		description: "Once this answers nothing is signed any more. What is signed already goes on being proven.",
	}
	resumePayments = operation{
		id: "resume-payments", method: http.MethodPost, path: "/v1/payments/resume", tag: "Payments", access: forAdmins,
		scope:   store.ScopeMoney,
		summary: "End a pause, and a hold of the program's own besides", faults: []fault.Code{fault.NotConfigured},
	}
	getLedger = operation{
		id: "get-ledger", method: http.MethodGet, path: "/v1/payments/ledger", tag: "Payments", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "Where the money is, and where it came from", faults: []fault.Code{fault.NotConfigured},
	}
	reconcilePayments = operation{
		id: "reconcile-payments", method: http.MethodPost, path: "/v1/payments/reconcile", tag: "Payments", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "Compare the ledger with the record, the chain and Fragment's purchases", description: "It changes nothing.",
		faults: []fault.Code{
			fault.NotConfigured, fault.ChainUnauthorized, fault.ChainRateLimited, fault.ChainUnavailable, fault.ChainTimeout,
			fault.ChainUnreachable, fault.ChainProtocol, fault.ChainClock,
		},
	}
)

func (s *server) registerPayments() {
	register(s, getQueue, s.getQueue)
	register(s, pausePayments, s.pausePayments)
	register(s, resumePayments, s.resumePayments)
	register(s, getLedger, s.getLedger)
	register(s, reconcilePayments, s.reconcilePayments)
}

func (s *server) getQueue(ctx context.Context, in *listQueueInput) (*answer[shape.Queue], error) {
	switches, err := s.o.Transactions.Switches(ctx)
	if err != nil {
		return nil, err
	}

	queue, err := s.o.Transactions.Queue(ctx, in.Limit)
	if err != nil {
		return nil, err
	}
	return answered(shape.Queue{Switches: switchesFrom(switches), Items: mapped(queue, turnFrom)}), nil
}

func turnFrom(q store.QueueEntry) shape.Turn {
	return shape.Turn{
		Place: q.Place, Hash: q.TransactionHash, Kind: string(q.Kind), Sender: q.Sender, AskedAt: utc(q.AskedAt),
		GrantedAt: optionalUTC(q.GrantedAt), NotBefore: optionalUTC(q.NotBefore),
	}
}

func (s *server) pausePayments(ctx context.Context, in *pauseInput) (*answer[shape.Switches], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	return s.switched(ctx, pausePayments, s.o.Transactions.Pause(ctx, caller(ctx), reason))
}

func (s *server) resumePayments(ctx context.Context, _ *struct{}) (*answer[shape.Switches], error) {
	return s.switched(ctx, resumePayments, s.o.Transactions.Resume(ctx))
}

// switched answers how the switches are after one of them was thrown.
func (s *server) switched(ctx context.Context, op operation, err error) (*answer[shape.Switches], error) {
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), op, "", store.OutcomeDone)
	switches, err := s.o.Transactions.Switches(ctx)
	return answered(switchesFrom(switches)), err
}

func (s *server) getLedger(ctx context.Context, _ *struct{}) (*answer[shape.Ledger], error) {
	report, err := s.o.Transactions.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	return answered(ledgerFrom(report)), nil
}

func (s *server) reconcilePayments(ctx context.Context, in *reconcileInput) (*answer[shape.Reconciliation], error) {
	var sold []service.FragmentPurchase
	if in.Body != nil && in.Body.Purchases != nil {
		sold = mapped(in.Body.Purchases, func(p shape.Purchase) service.FragmentPurchase {
			return service.FragmentPurchase{PaymentHash: p.PaymentHash, Stars: p.Stars, PaidNano: p.PaidNano}
		})
	}

	report, err := s.o.Transactions.Reconcile(ctx, sold)
	if err != nil {
		return nil, err
	}
	return answered(shape.Reconciliation{
		Ledger: ledgerFrom(report), ChainCompared: report.Chain, PurchasesCompared: report.Purchases,
		Differences: mapped(report.Differences, func(d store.Difference) shape.Difference { return shape.Difference(d) }),
	}), nil
}

func ledgerFrom(r service.LedgerReport) shape.Ledger {
	balances := mapped(r.Balances, func(b store.Balance) shape.Balance {
		return shape.Balance{Account: string(b.Account), BalanceNano: b.BalanceNano}
	})
	return shape.Ledger{Wallet: r.Wallet, ScannedTo: optionalUTC(r.ScannedTo), Balances: balances}
}

func switchesFrom(switches []store.Switch) shape.Switches {
	var body shape.Switches
	for _, sw := range switches {
		if !sw.On() {
			continue
		}

		on := &shape.Switch{
			Since: utc(*sw.Since), Reason: sw.Reason, UserID: formatOptionalID(sw.ByUser), RetryAt: optionalUTC(sw.RetryAt),
		}

		switch sw.Name {
		case store.SwitchPause:
			body.Pause = on
		case store.SwitchHold:
			body.Hold = on
		}
	}

	return body
}
