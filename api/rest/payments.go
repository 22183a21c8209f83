package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// SwitchesBody tells what stops payments.
type SwitchesBody struct {
	Pause *switchBody `json:"pause" doc:"An administrator's: no payment is signed; null: off"`
	Hold  *switchBody `json:"hold" doc:"The program's own: no purchase is signed, but for one that tries after retry_at; null: off"`
}

type switchBody struct {
	Since   time.Time  `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason  string     `json:"reason" example:"FRAGMENT_UNAUTHORIZED"`
	UserID  *string    `json:"user_id" example:"1" doc:"Who did it; null: the program"`
	RetryAt *time.Time `json:"retry_at" example:"2026-03-01T12:05:00Z"`
}

type queueBody struct {
	SwitchesBody
	Items []turnBody `json:"items" doc:"Who has the wallet's turn, then who waits for it, in the order of the turns"`
}

type turnBody struct {
	Place     int               `json:"place" example:"1"`
	Hash      string            `json:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Of the transaction"`
	Kind      store.PaymentKind `json:"kind" enum:"purchase,refund"`
	Sender    string            `json:"sender" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8" doc:"Senders take turns"`
	AskedAt   time.Time         `json:"asked_at" example:"2026-03-01T12:00:00Z"`
	GrantedAt *time.Time        `json:"granted_at" example:"2026-03-01T12:00:05Z" doc:"null: it waits"`
	NotBefore *time.Time        `json:"not_before" example:"2026-03-02T07:00:00Z" doc:"It does not fit into what is left of the limit for 24 hours: others pass it until then; null: it fits, as far as known"`
}

// LedgerBody tells where the money is.
type LedgerBody struct {
	Wallet    string        `json:"wallet" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8"`
	ScannedTo *time.Time    `json:"scanned_to" example:"2026-03-01T12:00:00Z" doc:"Chain time up to which the wallet's history is known"`
	Balances  []balanceBody `json:"balances" doc:"They sum to zero"`
}

type balanceBody struct {
	Account     store.Account `json:"account" example:"wallet"`
	BalanceNano int64         `json:"balance_nano" example:"12500000000" doc:"nanoTON. Positive: the money is there, or went there; negative: it came from there"`
}

type reconciliationBody struct {
	LedgerBody
	ChainCompared     bool             `json:"chain_compared" doc:"false: the record is not up to the chain's head at this moment; ask again"`
	PurchasesCompared int              `json:"purchases_compared" example:"97"`
	Differences       []differenceBody `json:"differences" doc:"Empty, as it should be"`
}

type differenceBody struct {
	What    string `json:"what" example:"balance on the chain" doc:"What does not agree"`
	Subject string `json:"subject" example:"wallet" doc:"An account, a hash or a number"`
	Want    int64  `json:"want" example:"12500000000"`
	Got     int64  `json:"got" example:"12400000000"`
}

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
		Purchases []purchaseBody `json:"purchases,omitempty" maxItems:"10000" doc:"All that Fragment has sold; when left out Fragment is not compared"`
	} `nameHint:"ReconciliationRequest"`
}

type purchaseBody struct {
	PaymentHash string `json:"payment_hash" pattern:"^[0-9a-f]{64}$" patternDescription:"64 digits of lower-case hex" doc:"Of the wallet's transaction"`
	Stars       int64  `json:"stars" minimum:"0"`
	PaidNano    int64  `json:"paid_nano" minimum:"0"`
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

func (s *server) getQueue(ctx context.Context, in *listQueueInput) (*answer[queueBody], error) {
	switches, err := s.o.Transactions.Switches(ctx)
	if err != nil {
		return nil, err
	}

	queue, err := s.o.Transactions.Queue(ctx, in.Limit)
	if err != nil {
		return nil, err
	}
	return answered(queueBody{switchesFrom(switches), mapped(queue, func(q store.QueueEntry) turnBody {
		return turnBody{
			Place: q.Place, Hash: q.TransactionHash, Kind: q.Kind, Sender: q.Sender, AskedAt: utc(q.AskedAt),
			GrantedAt: optionalUTC(q.GrantedAt), NotBefore: optionalUTC(q.NotBefore),
		}
	})}), nil
}

func (s *server) pausePayments(ctx context.Context, in *pauseInput) (*answer[SwitchesBody], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	return s.switched(ctx, pausePayments, s.o.Transactions.Pause(ctx, caller(ctx), reason))
}

func (s *server) resumePayments(ctx context.Context, _ *struct{}) (*answer[SwitchesBody], error) {
	return s.switched(ctx, resumePayments, s.o.Transactions.Resume(ctx))
}

// switched answers how the switches are after one of them was thrown.
func (s *server) switched(ctx context.Context, op operation, err error) (*answer[SwitchesBody], error) {
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), op, "", store.OutcomeDone)
	switches, err := s.o.Transactions.Switches(ctx)
	return answered(switchesFrom(switches)), err
}

func (s *server) getLedger(ctx context.Context, _ *struct{}) (*answer[LedgerBody], error) {
	report, err := s.o.Transactions.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	return answered(ledgerFrom(report)), nil
}

func (s *server) reconcilePayments(ctx context.Context, in *reconcileInput) (*answer[reconciliationBody], error) {
	var sold []service.FragmentPurchase
	if in.Body != nil && in.Body.Purchases != nil {
		sold = mapped(in.Body.Purchases, func(p purchaseBody) service.FragmentPurchase {
			return service.FragmentPurchase{PaymentHash: p.PaymentHash, Stars: p.Stars, PaidNano: p.PaidNano}
		})
	}

	report, err := s.o.Transactions.Reconcile(ctx, sold)
	if err != nil {
		return nil, err
	}
	return answered(reconciliationBody{
		LedgerBody: ledgerFrom(report), ChainCompared: report.Chain, PurchasesCompared: report.Purchases,
		Differences: mapped(report.Differences, func(d store.Difference) differenceBody { return differenceBody(d) }),
	}), nil
}

func ledgerFrom(r service.LedgerReport) LedgerBody {
	return LedgerBody{
		r.Wallet, optionalUTC(r.ScannedTo), mapped(r.Balances, func(b store.Balance) balanceBody { return balanceBody(b) }),
	}
}

func switchesFrom(switches []store.Switch) SwitchesBody {
	var body SwitchesBody
	for _, sw := range switches {
		if !sw.On() {
			continue
		}

		on := &switchBody{
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
