package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// PaymentOrder is a requested payment.
type PaymentOrder struct {
	Claim       // for a purchase; a refund has only the hash
	Kind        PaymentKind
	Destination string // raw address
	AmountNano  int64
	GasNano     int64  // reserved for gas
	ChainSeqno  uint32 // the wallet's next one according to the chain
	ChainLT     int64  // of the wallet's last transaction at that time
	BodyHash    string

	// For a purchase.
	RequestID     string    // Fragment's
	RequestNumber int64     // from Begin
	LinkUntil     time.Time // until when Fragment accepts money; zero: unknown
}

// Signed is a message of the wallet, ready to broadcast.
type Signed struct {
	BoC        []byte
	HashNorm   string
	ValidUntil time.Time // whole seconds
}

// SignFunc signs the message that makes the payment.
type SignFunc func(seqno uint32) (Signed, error)

// Limits limit payments, in nanoTON; 0: no limit. Daily limits count what was signed in the last 24 hours and is not
// dead.
type Limits struct {
	PerPurchase  int64
	PerDay       int64 // for purchases
	PerRefund    int64
	RefundPerDay int64

	// A person reviews a deposit above ReviewFrom, and one that raises a day's unreviewed deposits above ReviewPerDay,
	// before money leaves the wallet for it.
	ReviewFrom   int64
	ReviewPerDay int64
}

// of returns the limits for a kind of payment.
func (l Limits) of(kind PaymentKind) (one, day int64) {
	one, day = l.PerPurchase, l.PerDay
	if kind == Refund {
		one, day = l.PerRefund, l.RefundPerDay
	}
	if day > 0 && (one == 0 || day < one) {
		one = day // no day would ever have room for more
	}
	return one, day
}

// SignPayment creates an order's only payment. In one database transaction it checks that the payment is allowed, takes
// the next seqno, calls sign for the bytes, and records them with the reservation of the money. If the order already
// has a live payment, it returns that one and signs nothing.
//
// Refusals: NO_TURN (another attempt has the order, another payment of the wallet is undecided, or a later request was
// allowed), PAYMENTS_PAUSED, PAYMENTS_HELD (the record is behind the chain), REVIEW_REQUIRED, PAYMENT_LIMIT,
// DAILY_LIMIT (as a *DayIsFull), INSUFFICIENT_FUNDS (what is owed to others stays in the wallet), INVALID_TRANSITION,
// and the errors of sign.
func (s *Store) SignPayment(
	ctx context.Context, want PaymentOrder, limits Limits, sign SignFunc,
) (payment Payment, err error) {
	_, err = s.write(ctx, want.Hash, func(w *writing) error {
		underWay, err := core.List[Payment](ctx, w.DB, `SELECT `+paymentColumns+` FROM payments
			WHERE transaction_hash = $1 AND kind = $2 AND live OR wallet = $3 AND `+isSigned, w.Hash, want.Kind, w.Address)
		if err != nil {
			return err
		}

		for _, p := range underWay {
			if p.TransactionHash == w.Hash && p.Kind == want.Kind {
				payment = p
				return nil
			}
		}
		if len(underWay) > 0 {
			return fault.New(fault.NoTurn, "another payment of the wallet is undecided").Retry()
		}

		order := signing{writing: w, want: want}
		if err := order.admit(ctx, limits); err != nil {
			return err
		}

		payment, err = order.sign(ctx, sign)
		return err
	})

	return payment, err
}

// signing is one order during its signature.
type signing struct {
	*writing
	want     PaymentOrder
	reserved int64 // nanoTON to reserve
}

// admit checks everything that must hold at the moment of signing.
func (s *signing) admit(ctx context.Context, limits Limits) error {
	if err := s.due(); err != nil {
		return err
	}
	if s.want.Kind == Purchase && (s.want.TakenBy == "" || s.want.RequestNumber != s.Requests) {
		return notFree
	}
	if err := s.notStopped(ctx, s.want.ChainSeqno, s.want.ChainLT, false); err != nil {
		return err
	}
	if err := s.reviewed(ctx, limits); err != nil {
		return err
	}
	if s.want.Kind == Purchase || !s.RefundApproved {
		if err := s.within(ctx, s.want.Kind, s.want.AmountNano, limits); err != nil {
			return err
		}
	}
	return s.covered(ctx)
}

// signingOf has the action that signs each kind of payment.
var signingOf = map[PaymentKind]lifecycle.TransactionAction{
	Purchase: lifecycle.TransactionActionBuy, Refund: lifecycle.TransactionActionRefund,
}

// due performs the step in the table, if the transaction currently needs this payment.
func (s *signing) due() error {
	s.reserved = s.want.AmountNano + s.want.GasNano
	switch {
	case s.want.AmountNano <= 0 || s.want.GasNano < 0:
		return fault.Invalid("amount_nano", "a payment needs an amount")
	case s.want.Kind == Purchase && !s.has(s.want.Claim):
		return notFree
	case s.want.Kind == Refund && s.want.Destination != s.Sender:
		return fault.Invalid("destination", "a refund goes to the sender")
	}

	if err := s.Take(TransactionStep{Action: signingOf[s.want.Kind]}); err != nil {
		return err
	}

	if s.want.Kind == Refund {
		if s.RefundDueNano < s.reserved {
			return fault.New(fault.InvalidTransition, "this is more than is owed").With("current", s.State)
		}
		s.reserved = s.RefundDueNano // its cost is deducted from the debt
	}
	return nil
}

// notStopped checks the switches, and that the record has read all payments on the chain, which shows the wallet's next
// seqno and the lt of its last transaction: one of them may have been for this order.
func (w *writing) notStopped(ctx context.Context, seqno uint32, lt int64, unlessHeld bool) error {
	switches, err := readSwitches(ctx, w.DB, lockedSwitches)
	switch {
	case err != nil:
		return err
	case switches.Pause.On():
		return fault.New(fault.PaymentsPaused, "payments are paused").Retry()
	case unlessHeld && switches.Hold.On():
		return fault.New(fault.PaymentsHeld, "payments are held").With("reason", switches.Hold.Reason).Retry()
	case w.Behind(seqno, lt):
		return fault.New(
			fault.PaymentsHeld, "the chain has payments that the record has not read yet",
		).With("reason", "behind").Retry()
	}
	return nil
}

// Behind reports whether the chain, which shows the wallet's next seqno and the lt of its last transaction, has
// payments that the record has not yet read.
func (w Wallet) Behind(seqno uint32, lt int64) bool {
	return int64(seqno) > w.NextSeqno && lt > w.CursorLT
}

// covered checks that the wallet has the money in addition to its debts to others. No other message is signed at this
// moment, so nothing else is reserved.
func (s *signing) covered(ctx context.Context) error {
	balances, err := balancesIn(ctx, s.DB, s.Address)
	if err != nil {
		return err
	}

	free := balances[AccountWallet] + balances[AccountReserved] + balances[AccountRefundDue]
	if s.want.Kind == Refund {
		free += s.RefundDueNano
	}

	if free < s.want.AmountNano+s.want.GasNano {
		return fault.New(fault.InsufficientFunds, "the balance of the wallet is too low").With("free_nano", free)
	}
	return nil
}

// sign signs the order's payment and records it.
func (s *signing) sign(ctx context.Context, sign SignFunc) (Payment, error) {
	seqno := max(int64(s.want.ChainSeqno), s.NextSeqno)
	signed, err := sign(uint32(seqno))
	if err != nil {
		return Payment{}, err
	}
	if s.ScannedTo != nil && !signed.ValidUntil.After(*s.ScannedTo) {
		return Payment{}, fault.Invalid("valid_until", "the payment would be signed for a time that has passed")
	}

	return s.record(ctx, signed, seqno)
}

// record stores the signed payment and reserves its money.
func (s *signing) record(ctx context.Context, signed Signed, seqno int64) (Payment, error) {
	if err := s.closeRequest(ctx); err != nil {
		return Payment{}, err
	}

	s.DeferredAt, s.DeferredUntil = nil, nil
	var linkUntil *time.Time
	if !s.want.LinkUntil.IsZero() {
		linkUntil = &s.want.LinkUntil
	}

	payment, err := core.One[Payment](ctx, s.DB, noPayment, `INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc,
		hash_norm, destination, amount_nano, reserved_nano, body_hash, request_id, created_at, request_number, link_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, nullif($15::bigint, 0), $16) RETURNING `+paymentColumns,
		s.want.Kind, s.Hash, s.Attempt, s.Address, seqno, signed.ValidUntil, signed.BoC, signed.HashNorm, s.want.Destination,
		s.want.AmountNano, s.reserved, s.want.BodyHash, s.want.RequestID, s.Now, s.want.RequestNumber, linkUntil)
	if err != nil {
		return Payment{}, err
	}
	return payment, s.reserve(ctx, payment, "reserve", s.reserved)
}

// reserve moves money from its owners to the reservation; a negative amount moves it back.
func (w *writing) reserve(ctx context.Context, p Payment, cause string, nano int64) error {
	from := AccountReceived
	if p.Kind == Refund {
		from = AccountRefundDue
		w.RefundDueNano -= nano
	}
	return post(ctx, w.DB, w.Address, &w.Hash, paymentCause(cause, p.ID), amounts{from: nano, AccountReserved: -nano})
}
