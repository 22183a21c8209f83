package transaction

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// ChainTransaction is a finalized transaction of one of our wallets. Hashes are lower-case hex, addresses raw, amounts
// nanoTON.
type ChainTransaction struct {
	LT             int64
	Hash           string
	PrevLT         int64 // of the wallet's previous transaction; 0: it is the first
	PrevHash       string
	At             time.Time // the chain's clock
	Aborted        bool
	ComputeOK      bool // the contract ran successfully
	ExitCode       int
	ActionOK       bool // its messages were sent, except skipped ones
	SkippedActions int
	// all fees: those of the transaction and the forward fees of its messages, so that the balance changes by in − out −
	// fee
	FeeNano int64

	In  InMessage
	Out []OutMessage
	// Deposit is true of a transfer that requests Stars. The record may override the caller: a message that bounced, or
	// comes from the wallet itself or an address where Stars were bought, is no deposit.
	Deposit  bool
	Comment  string // of a deposit
	Username string // named in the comment, without "@"; empty: none
	Stars    int64  // requested; 0: as many as the transfer buys
	// TooSmallFor is the username in the comment of a transfer that would be a deposit if it were not below the minimum;
	// empty: it is no such transfer.
	TooSmallFor string
}

// InMessage is the message that called a wallet.
type InMessage struct {
	Hash     string
	HashNorm string // of an external message, otherwise empty
	Source   string // empty: external
	Nano     int64
	Bounced  bool
}

// OutMessage is a message sent by a wallet.
type OutMessage struct {
	Hash        string
	Destination string
	Nano        int64
	BodyHash    string
}

// Ingested is the result of one page of history.
type Ingested struct {
	Written     int      // new transactions
	NewDeposits []string // hashes of new pending transactions
	Settled     []int64  // ids of payments that it decided
	// hashes of transactions that a person has to check: a payment unknown to the record was found
	Lost []string
}

// IngestChain writes a page of a wallet's history, oldest first, in one database transaction: the chain's transactions,
// the cursor, new pending transactions, settled payments, the ledger. A known transaction is skipped if it is the same;
// a transaction that does not follow its predecessor is refused with CHAIN_GAP, and nothing of the page is written.
//
// A nonzero head means that with this page every transaction up to that chain time is known, and no older one can
// follow. To ensure that, the caller reads the chain's time before the page. Signed payments that expired before it and
// were not found are then dead.
func (s *Store) IngestChain(
	ctx context.Context, wallet string, page []ChainTransaction, head time.Time,
) (brought Ingested, err error) {
	var locked lockedWallet
	err = s.db.InTwoTrips(ctx, func(read *pgx.Batch) { locked.queueLock(read, wallet) }, func(tx core.Session, _ *pgx.Batch) error {
		in := ingest{tx: tx, lockedWallet: locked}
		for _, t := range page {
			if err := in.take(ctx, t); err != nil {
				return err
			}
		}

		if !head.IsZero() && (in.ScannedTo == nil || head.After(*in.ScannedTo)) {
			in.ScannedTo = &head
		}
		_, err := tx.Exec(ctx, `UPDATE ton_wallets SET cursor_lt = $2, cursor_hash = $3, scanned_to = $4, next_seqno = $5,
			updated_at = $6 WHERE address = $1`, in.Address, in.CursorLT, in.CursorHash, in.ScannedTo, in.NextSeqno, in.Now)
		if err != nil {
			return err
		}

		if !head.IsZero() && in.SignedUntil != nil && in.SignedUntil.Before(*in.ScannedTo) {
			if err := in.declareDead(ctx); err != nil {
				return err
			}
		}

		brought = in.brought
		return nil
	})

	return brought, err
}

// ingest is one page being written.
type ingest struct {
	tx core.Session
	lockedWallet
	brought Ingested
}

// take writes one transaction, or skips a known one.
func (in *ingest) take(ctx context.Context, t ChainTransaction) error {
	if t.LT <= in.CursorLT {
		return in.compare(ctx, t)
	}
	if t.PrevLT != in.CursorLT || in.CursorLT != 0 && t.PrevHash != in.CursorHash {
		return fault.New(fault.ChainGap, "a transaction does not follow the one before").
			With("cursor_lt", in.CursorLT).With("prev_lt", t.PrevLT).With("lt", t.LT).Retry()
	}
	if err := in.write(ctx, t); err != nil {
		return err
	}

	in.CursorLT, in.CursorHash = t.LT, t.Hash
	in.brought.Written++
	return nil
}

// compare checks that a known transaction is the same. Transactions before the beginning of the record were never
// written.
func (in *ingest) compare(ctx context.Context, t ChainTransaction) error {
	same, err := t.Hash == in.CursorHash, error(nil)
	if t.LT < in.CursorLT {
		same, err = core.Value[bool](ctx, in.tx, `SELECT coalesce((SELECT hash = $3 FROM chain_transactions WHERE wallet = $1 AND lt = $2),
			$2 < (SELECT min(lt) FROM chain_transactions WHERE wallet = $1), true)`, in.Address, t.LT, t.Hash)
	}

	if err == nil && !same {
		return fault.New(fault.ChainGap, "a transaction is not the one that is known").With("lt", t.LT)
	}
	return err
}

// Meanings of a transaction on the chain.
const (
	meansDeposit = "deposit"
	meansPayment = "payment"
	meansBounce  = "bounce"
	meansOther   = "other"
)

// write records a transaction and everything that follows from it.
func (in *ingest) write(ctx context.Context, t ChainTransaction) error {
	payment, err := in.paymentIn(ctx, t)
	if err != nil {
		return err
	}

	// A wallet that has never paid has no contract yet: its transactions are aborted, but it keeps the money.
	keeps := !t.Aborted || len(t.Out) == 0
	means := meansOther
	switch {
	case payment != nil:
		means = meansPayment
	case t.In.Bounced:
		means = meansBounce
	case t.Deposit && keeps && t.In.Nano > 0 && t.In.Source != "" && t.In.Source != in.Address:
		shop, err := core.Value[bool](ctx, in.tx, `SELECT EXISTS (SELECT 1 FROM payments WHERE wallet = $1 AND destination = $2 AND `+isPurchase+`)`,
			in.Address, t.In.Source)
		if err != nil {
			return err
		}
		if !shop { // whose money is no customer's
			means = meansDeposit
		}
	}

	_, err = in.tx.Exec(ctx, `INSERT INTO chain_transactions (wallet, lt, hash, prev_lt, prev_hash, at, aborted, computed, exit_code,
		acted, skipped_actions, in_hash, in_hash_norm, in_source, in_nano, in_bounced, out_count, out_nano, out_hash,
		out_destination, out_body_hash, fee_nano, means)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
		in.Address, t.LT, t.Hash, t.PrevLT, t.PrevHash, t.At, t.Aborted, t.ComputeOK, t.ExitCode,
		t.ActionOK, t.SkippedActions, t.In.Hash, t.In.HashNorm, t.In.Source, t.In.Nano, t.In.Bounced, len(t.Out), t.sent(), t.first().Hash,
		t.first().Destination, t.first().BodyHash, t.FeeNano, means)
	if err != nil {
		return err
	}

	switch means {
	case meansDeposit:
		return in.deposit(ctx, t)
	case meansPayment:
		return in.settle(ctx, *payment, t)
	case meansBounce:
		return in.post(ctx, nil, t, AccountReturning, AccountOther)
	default:
		if err := in.post(ctx, nil, t, AccountOther, AccountOther); err != nil {
			return err
		}
		if t.TooSmallFor != "" {
			return in.tooSmall(ctx, t)
		}
		if t.In.HashNorm == "" {
			return nil
		}
		return in.lost(ctx, t)
	}
}

// paymentIn returns the payment executed by a transaction; nil: none. An external message is executed at most once.
// Served by the index payments_message.
func (in *ingest) paymentIn(ctx context.Context, t ChainTransaction) (*Payment, error) {
	if t.In.HashNorm == "" {
		return nil, nil
	}

	payment, err := core.One[Payment](ctx, in.tx, noPayment, `SELECT `+paymentColumns+` FROM payments
		WHERE hash_norm = $1 AND wallet = $2 AND chain_hash = ''`, t.In.HashNorm, in.Address)
	if errors.Is(err, noPayment) {
		return nil, nil
	}
	return &payment, err
}

// sent is the total of all messages.
func (t ChainTransaction) sent() (nano int64) {
	for _, out := range t.Out {
		nano += out.Nano
	}
	return nano
}

// first returns the first message sent, or the zero value.
func (t ChainTransaction) first() OutMessage {
	if len(t.Out) == 0 {
		return OutMessage{}
	}
	return t.Out[0]
}

// post records how a transaction changed the wallet's balance: where the money came from, and where it went.
func (in *ingest) post(ctx context.Context, transaction *string, t ChainTransaction, from, to Account) error {
	moved := amounts{AccountWallet: t.In.Nano - t.sent() - t.FeeNano, AccountGas: t.FeeNano}
	moved[from] -= t.In.Nano
	moved[to] += t.sent()
	return post(ctx, in.tx, in.Address, transaction, "chain/"+in.Address+"/"+strconv.FormatInt(t.LT, 10), moved)
}

// deposit creates a pending transaction from a transfer.
func (in *ingest) deposit(ctx context.Context, t ChainTransaction) error {
	event, state, err := core.Move(
		lifecycle.Transaction, "", TransactionStep{Action: lifecycle.TransactionActionDetect}, lifecycle.TransactionFacts{},
	)
	if err != nil {
		return err
	}

	// PostgreSQL must accept any sender's text: one bad comment must not stop the others.
	comment := strings.ReplaceAll(strings.ToValidUTF8(t.Comment, "\uFFFD"), "\x00", "\uFFFD")
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, created_at, updated_at, status, username, stars, user_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, (SELECT id FROM users WHERE username = $11))`,
		t.Hash, in.Address, t.LT, t.In.Nano, t.In.Source, comment, in.Now, state, t.Username, t.Stars, account.PlainUsername(t.Username))
	core.QueueEvent(batch, lifecycle.WorkloadTransaction, t.Hash, 1, nil, event)
	if err := in.tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}

	in.brought.NewDeposits = append(in.brought.NewDeposits, t.Hash)
	return in.post(ctx, &t.Hash, t, AccountReceived, AccountOther)
}
