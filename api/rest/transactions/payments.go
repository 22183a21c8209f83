package transactions

import (
	"cmp"
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

// WalletInput names a wallet; each operation says what it does without.
type WalletInput struct {
	Wallet string `query:"wallet" maxLength:"80" doc:"The name or the address of one of several wallets"`
}

type listQueueInput struct {
	WalletInput
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many items to give"`
}

type pauseInput struct {
	WalletInput
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"The wallet is being moved"`
	} `nameHint:"PaymentsPause"`
}

type reconcileInput struct {
	WalletInput
	Body *struct {
		Purchases []shape.Purchase `json:"purchases,omitempty" maxItems:"10000" doc:"All that Fragment has sold; when left out Fragment is not compared"`
	} `nameHint:"ReconciliationRequest"`
}

// registerPayments adds the operations of payments.
func (h *handlers) registerPayments() {
	payments := server.Group{
		Server: h.Server, Tag: "Payments", Access: server.ForAdmins, Scope: account.ScopeOperate,
		Faults: []fault.Code{fault.NotConfigured},
	}

	server.Register(payments, server.Operation{
		Id: "get-payment-queue", Route: "GET /v1/payments/queue",
		Summary:     "Who waits for the wallet's turn, and what stops payments",
		Description: "Of all wallets, unless one is named.",
	}, h.getQueue)

	server.Register(payments, server.Operation{
		Id: "pause-payments", Route: "POST /v1/payments/pause", Confirms: true, Scope: lifecycle.TransactionScope, Subject: server.SubjectWallet,
		Summary:     "Stop all payments",
		Description: "Once this answers nothing is signed any more, by any wallet or by the one that is named. What is signed already goes on being proven.",
	}, h.pausePayments)

	server.Register(payments, server.Operation{
		Id: "resume-payments", Route: "POST /v1/payments/resume", Confirms: true, Scope: lifecycle.TransactionScope, Subject: server.SubjectWallet,
		Summary:     "End a pause, and a hold of the program's own besides",
		Description: "Of all wallets. When one is named, the pause of all of them stays.",
	}, h.resumePayments)

	server.Register(payments, server.Operation{
		Id: "get-ledger", Route: "GET /v1/payments/ledger",
		Summary:     "Where the money is, and where it came from",
		Description: "Of the first wallet, unless one is named.",
	}, h.getLedger)

	server.Register(payments, server.Operation{
		Id: "get-solvency", Route: "GET /v1/payments/solvency",
		Summary:     "Compare what the wallet has on the chain with the ledger",
		Description: "The chain is read every few seconds at most, however many ask. Without its answer the ledger's side is given alone. It is about the first wallet, unless one is named.",
	}, h.getSolvency)

	server.Register(payments, server.Operation{
		Id: "reconcile-payments", Route: "POST /v1/payments/reconcile",
		Summary:     "Compare the ledger with the record, the chain and Fragment's purchases",
		Description: "It changes nothing. It is about the first wallet, unless one is named.",
		Faults: []fault.Code{
			fault.ChainUnauthorized, fault.ChainRateLimited, fault.ChainUnavailable, fault.ChainTimeout,
			fault.ChainUnreachable, fault.ChainProtocol, fault.ChainClock,
		},
	}, h.reconcilePayments)
}

func (h *handlers) getQueue(ctx context.Context, in *listQueueInput) (none shape.Queue, err error) {
	queue, err := h.transactions.Queue(ctx, in.Wallet, in.Limit)
	if err != nil {
		return none, err
	}
	return shape.Queue{Switches: switchesFrom(queue.Stops), Items: shape.List(queue.Line, turnFrom)}, nil
}

func turnFrom(q transaction.QueueEntry) shape.Turn {
	return shape.Turn{
		Place: q.Place, Hash: q.TransactionHash, Kind: string(q.Kind), Wallet: q.Wallet, Sender: q.Sender, AskedAt: q.AskedAt.UTC(),
		GrantedAt: shape.OptionalTime(q.GrantedAt), NotBefore: shape.OptionalTime(q.NotBefore),
	}
}

func (h *handlers) pausePayments(ctx context.Context, in *pauseInput) (shape.Switches, error) {
	return h.switched(ctx, in.Wallet, h.transactions.Pause(ctx, server.Caller(ctx), in.Wallet, shape.Value(in.Body).Reason))
}

func (h *handlers) resumePayments(ctx context.Context, in *WalletInput) (shape.Switches, error) {
	return h.switched(ctx, in.Wallet, h.transactions.Resume(ctx, in.Wallet))
}

// switched answers how the switches are after one of them was thrown, of a wallet or of all.
func (h *handlers) switched(ctx context.Context, wallet string, err error) (shape.Switches, error) {
	if err != nil {
		return shape.Switches{}, err
	}

	h.Done(ctx, wallet)
	stops, err := h.transactions.Stops(ctx)
	return server.Shown(stops, err, switchesFrom)
}

func (h *handlers) getLedger(ctx context.Context, in *WalletInput) (shape.Ledger, error) {
	report, err := h.transactions.Ledger(ctx, in.Wallet)
	return server.Shown(report, err, ledgerFrom)
}

func (h *handlers) getSolvency(ctx context.Context, in *WalletInput) (shape.Solvency, error) {
	solvency, err := h.transactions.Solvency(ctx, in.Wallet)
	return server.Shown(solvency, err, solvencyFrom)
}

func solvencyFrom(s service.Solvency) shape.Solvency {
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

	if s.Chain { // both sides are of one moment then
		difference := int64(0)
		for _, d := range s.Differences {
			difference += d.Want - d.Got
		}
		body.DifferenceNano, body.LedgerNano = &difference, *s.ChainNano-difference
	}

	return body
}

func (h *handlers) reconcilePayments(ctx context.Context, in *reconcileInput) (none shape.Reconciliation, err error) {
	var sold []service.FragmentPurchase
	if purchases := shape.Value(in.Body).Purchases; purchases != nil {
		sold = shape.List(purchases, func(p shape.Purchase) service.FragmentPurchase {
			return service.FragmentPurchase{PaymentHash: p.PaymentHash, Stars: p.Stars, PaidNano: p.PaidNano}
		})
	}

	report, err := h.transactions.Reconcile(ctx, in.Wallet, sold)
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

func ledgerFrom(r service.LedgerReport) shape.Ledger {
	balances := shape.List(r.Balances, func(b transaction.Balance) shape.Balance {
		return shape.Balance{Account: string(b.Account), BalanceNano: b.BalanceNano}
	})
	return shape.Ledger{Wallet: r.Wallet, Name: r.Name, ScannedTo: shape.OptionalTime(r.ScannedTo), Balances: balances}
}

func switchesFrom(stops service.Stops) (body shape.Switches) {
	at := map[string]int{} // of a wallet's address in the answer
	body.Wallets = shape.List(stops.Wallets, func(w transaction.WalletLine) shape.PaymentWallet {
		at[w.Address] = len(at)
		return shape.PaymentWallet{Name: w.Name, Address: w.Address, Waiting: w.Waiting, SeenAt: w.SeenAt.UTC()}
	})

	for _, sw := range stops.On {
		on := &shape.Switch{
			Since: sw.Since.UTC(), Reason: sw.Reason, UserID: shape.OptionalID(sw.ByUser),
			RetryAt: shape.OptionalTime(sw.RetryAt),
		}

		i, own := at[sw.Wallet]
		switch {
		case sw.Wallet == "":
			body.Pause = on
		case own && sw.Name == transaction.SwitchPause:
			body.Wallets[i].Pause = on
		case own:
			body.Wallets[i].Hold = on
		}
	}

	for _, wallet := range body.Wallets {
		body.Hold = cmp.Or(body.Hold, wallet.Hold)
	}
	return body
}
