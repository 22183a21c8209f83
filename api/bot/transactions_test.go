package bot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/api/bot/chat"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

const coin int64 = 1_000_000_000 // nanoTON

var wallet = "0:" + hashOf("wallet")

func hashOf(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(of...)))
	return hex.EncodeToString(sum[:])
}

func (w *rig) price(context.Context, int64) (int64, error) {
	if w.unpriced.Load() {
		return 0, fault.New(fault.FragmentUnavailable, "Fragment is away").Retry()
	}
	return 460_900_000, nil
}

// transactionWorkflows decides about retries at once.
type transactionWorkflows struct{ store *store.Store }

func (s *transactionWorkflows) update(
	ctx context.Context, o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	hash := strings.TrimPrefix(o.UpdateOptions.WorkflowID, "transaction/")
	in := o.UpdateOptions.Args[0].(lifecycle.TransactionInput)
	t, err := s.store.Transactions.ByHash(ctx, hash)
	if err == nil {
		_, err = s.store.Transactions.Retry(
			ctx, transaction.Request{Hash: hash, Attempt: t.Attempt, ActorID: &in.Actor, Comment: in.Comment},
		)
	}

	if refusal := fault.As(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return decided{err: err}, nil
}

type decided struct {
	client.WorkflowUpdateHandle
	err error
}

func (d decided) Get(context.Context, any) error { return d.err }

// opens initializes the record of the wallet.
func (w *rig) opens() {
	w.t.Helper()
	if _, err := w.store.Transactions.OpenWallet(w.t.Context(), wallet, transaction.WalletStart{}); err != nil {
		w.t.Fatal(err)
	}
}

// deposits creates the n-th transaction: half a TON for a username, priced and in processing.
func (w *rig) deposits(n int64, username string) (hash string) {
	w.t.Helper()
	chain := transaction.ChainTransaction{
		LT: n, Hash: hashOf("chain", n), At: time.Now(), ComputeOK: true, ActionOK: true, Deposit: true, Comment: username, Username: username,
		In: transaction.InMessage{Hash: hashOf("in", n), Source: "0:" + hashOf("customer"), Nano: coin / 2},
	}

	if n > 1 {
		chain.PrevLT, chain.PrevHash = n-1, hashOf("chain", n-1)
	}

	_, err := w.store.Transactions.IngestChain(w.t.Context(), wallet, []transaction.ChainTransaction{chain}, chain.At)
	if err == nil {
		err = w.begins(chain.Hash, username)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return chain.Hash
}

// begins starts an attempt to buy an order.
func (w *rig) begins(hash, username string) error {
	claim, err := w.claim(hash)
	if err == nil {
		_, _, err = w.store.Transactions.Begin(w.t.Context(), transaction.Beginning{
			Claim: claim, By: "attempt",
			Quote: transaction.Quote{Username: username, Stars: 50, PriceNano: coin / 3, Recipient: "r"},
		})
	}
	return err
}

// claim returns the claim of the attempt that holds the order.
func (w *rig) claim(hash string) (transaction.Claim, error) {
	t, err := w.store.Transactions.ByHash(w.t.Context(), hash)
	return transaction.Claim{Hash: hash, Attempt: t.Attempt, TakenBy: t.TakenBy}, err
}

func (w *rig) failsWith(hash, message string, class lifecycle.ErrorClass, refund bool) {
	w.t.Helper()
	claim, err := w.claim(hash)
	if err == nil {
		_, err = w.store.Transactions.Fail(
			w.t.Context(), transaction.Failure{Claim: claim, Message: message, Class: class, Refund: refund},
		)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// calledSo has a person write to the bot under a username.
func (w *rig) calledSo(person int64, language, username, words string) {
	w.t.Helper()
	body, _ := json.Marshal(map[string]string{"text": words, "language_code": language, "username": username})
	answer, err := http.Post(
		fmt.Sprintf("%s/_/users/%d/messages", w.url, person), "application/json", bytes.NewReader(body),
	)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		w.t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
}

func (w *rig) shows(person int64, part string) (n int) {
	for _, m := range w.messages(person) {
		if strings.Contains(m.Text, part) {
			n++
		}
	}
	return n
}

func TestHowToPayForStars(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	stop := w.run(w.bot())
	w.calledSo(anna, "en", "Anna_reads", "/stars")
	w.sees(anna, "Stars are not sold here.")
	w.opens()
	w.calledSo(anna, "en", "Anna_reads", "/stars")
	w.sees(
		anna, "<code>UQwallet</code>", "<code>Anna_reads</code>", "<code>Anna_reads 100</code>", "50 Stars cost 0.4609 GRAM",
		"at least 0.49 GRAM", "0.02 GRAM of each",
	)
	stop()
	w.services = w.newServices() // the old ones cache a price for a while
	w.unpriced.Store(true)
	w.run(w.bot())
	w.writes(boris, "ru", "/stars")
	w.sees(boris, "<code>UQwallet</code>", "<code>durov 100</code>", "Цену сейчас узнать не удалось", "0,02 GRAM")
	if user := w.user(anna); user.Username != "anna_reads" {
		t.Errorf("Anna is known as %q", user.Username)
	}

	w.calledSo(boris, "ru", "ANNA_reads", "/help")
	w.eventually("the name at its new owner", func() bool {
		return w.user(boris).Username == "anna_reads" && w.user(anna).Username == ""
	})
}

func TestWhoIsNotifiedOfStars(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.services.Transactions.Pages = "https://pages.example"
	w.run(w.bot())
	w.opens()
	w.calledSo(anna, "en", "anna", "/start")
	w.calledSo(boris, "ru", "boris", "/start")
	w.eventually(
		"their names", func() bool { return w.user(anna).Username == "anna" && w.user(boris).Username == "boris" },
	)
	stranger := w.deposits(1, "stranger")
	w.failsWith(stranger, "Username not found", lifecycle.NonRetryable, false)
	w.failsWith(w.deposits(2, "anna"), "Insufficient amount", lifecycle.NonRetryable, false)
	w.sees(anna, "❌ The transfer of 0.5 GRAM", "@anna", "too small", "write to an administrator")
	w.failsWith(w.deposits(3, "Boris"), "Stars amount should be at least 50", lifecycle.NonRetryable, true)
	w.sees(boris, "Перевод 0,5 GRAM", "Меньше 50", "Деньги вернутся")

	hash := w.deposits(4, "boris")
	w.failsWith(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
	w.sees(boris, "Произошла внутренняя ошибка", "Платить ещё раз не нужно")
	for range 2 { // another failure brings no second notification
		t4, err := w.store.Transactions.ByHash(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Transactions.Retry(t.Context(), transaction.Request{Hash: hash, Attempt: t4.Attempt}); err != nil {
			t.Fatal(err)
		}
		w.failsWith(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
	}

	good := w.deposits(5, "anna")
	w.pays(good, 5)
	w.sees(anna, "⭐ 50 Stars for @anna have been bought", `<a href="https://pages.example/receipts/`)
	time.Sleep(3 * noticeTick)

	for what, n := range map[string]int{"have been bought": w.shows(anna, "have been bought"), "too small": w.shows(anna, "too small"), "trouble": w.shows(boris, "Произошла внутренняя ошибка")} {
		if n != 1 {
			t.Errorf("%s was notified %d times", what, n)
		}
	}

	w.eventually("rest", func() bool { return strings.Join(w.noticeStates(), " ") == "sent sent sent sent" })
}

// TestSmallTransferIsNotified notifies the person named by a transfer below the minimum that it buys nothing, in their
// language.
func TestSmallTransferIsNotified(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.opens()
	w.calledSo(anna, "en", "anna", "/start")
	w.calledSo(boris, "ru", "boris", "/start")
	w.eventually(
		"their names", func() bool { return w.user(anna).Username == "anna" && w.user(boris).Username == "boris" },
	)

	_, err := testdb.DB(t, w.wire.URL).Exec(t.Context(), `INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT id, $1, 'hash', 1, now() FROM users WHERE username IN ('anna', 'boris')`, transaction.SmallTransferNotices)
	if err != nil {
		t.Fatal(err)
	}

	w.sees(anna, "below the minimum", "/stars")
	w.sees(boris, "меньше минимального", "/stars")
	w.eventually("rest", func() bool { return strings.Join(w.noticeStates(), " ") == "sent sent" })
}

// pays takes a transaction in processing to its end, after the n-th transaction of the wallet.
func (w *rig) pays(hash string, n int64) {
	w.t.Helper()
	ctx := w.t.Context()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}

	claim, err := w.claim(hash)
	must(err)
	gate, err := w.store.Transactions.Gate(ctx, hash)
	must(err)
	payment, err := w.store.Transactions.SignPayment(ctx, transaction.PaymentOrder{
		BodyHash: hashOf("body"),
		Claim:    claim, Kind: transaction.Purchase, Destination: "0:" + hashOf("shop"), AmountNano: coin / 3,
		GasNano: coin / 100, RequestNumber: gate.Wallet.Requests,
	}, transaction.Limits{}, func(uint32) (transaction.Signed, error) {
		return transaction.Signed{
			BoC: []byte{1}, HashNorm: hashOf("message"), ValidUntil: time.Now().Add(time.Hour),
		}, nil
	})

	must(err)
	_, err = w.store.Transactions.IngestChain(ctx, wallet, []transaction.ChainTransaction{{
		LT: n + 1, Hash: hashOf("chain", n+1), PrevLT: n, PrevHash: hashOf("chain", n), At: time.Now(), ComputeOK: true,
		ActionOK: true, FeeNano: 1000,
		In: transaction.InMessage{Hash: hashOf("in", n+1), HashNorm: payment.HashNorm},
		Out: []transaction.OutMessage{
			{Hash: hashOf("out"), Destination: payment.Destination, Nano: payment.AmountNano, BodyHash: payment.BodyHash},
		},
	}}, time.Now())

	must(err)
	_, err = w.store.Transactions.SettleDestination(ctx, payment, transaction.Destination{Kept: true})
	must(err)
	_, err = w.store.Transactions.Finish(ctx, hash, 1, true)
	must(err)
}

func TestAdministratorsLookAfterTransactions(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.opens()
	w.writes(boss, "en", "/tx")
	w.sees(boss, "No transaction needs attention.")
	const listed = 5 // of each kind that needs attention
	hash := w.deposits(1, "durov")
	w.writes(boss, "en", "/tx "+strings.ToUpper(hash))
	w.sees(boss, hash, "⏳ processing", "Received 0.5 GRAM. Stars: 50, for durov. Attempts: 1")
	w.writes(boss, "en", "/retry "+hash)
	w.sees(boss, "cannot be retried")
	w.failsWith(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
	for n := range listed { // these need nobody, however many follow
		w.failsWith(w.deposits(int64(n+2), "nobody"), "Username not found", lifecycle.NonRetryable, false)
	}

	w.writes(boss, "ru", "/tx")
	w.presses(boss, "xt:")
	w.sees(boss, hash, "❌ не удалась", "Failed to fetch: Network error (retryable)")
	w.presses(boss, "xr:")
	w.sees(boss, "Повторить покупку?")
	w.presses(boss, "xt:")
	w.eventually("the question to go", func() bool { return w.shows(boss, "Повторить покупку?") == 0 })
	review := w.deposits(listed+2, "durov")
	if _, err := w.store.Transactions.Review(t.Context(), review, 1, transaction.ReviewNotConfirmed); err != nil {
		t.Fatal(err)
	}

	w.writes(boss, "ru", "/tx "+review)
	w.sees(boss, review, "Требует разбора: оплата прошла", "tx resolve "+review+" processed")
	w.writes(boss, "en", "/retry "+hash)
	yes := findButton(w.sees(boss, "Retry the purchase?"), "xy:")

	for range 3 {
		if err := w.telegram.Click(boss, yes); err != nil {
			break // the question has disappeared
		}
	}

	w.notes(boss, "It is being retried.")
	w.eventually("the second attempt", func() bool {
		found, err := w.store.Transactions.ByHash(t.Context(), hash)
		return err == nil && found.State == lifecycle.TransactionProcessing && found.Attempt == 2
	})
	w.failsWith(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
	b := w.bot()
	late := chat.Incoming{Chat: boss, Click: "late", Data: yes}
	press := &chat.Request{Incoming: late, User: w.user(boss)}
	_, retry, args := b.handlerOf(press)
	if err := retry(t.Context(), press, args); err != nil {
		t.Error(err)
	}
	if found, err := w.store.Transactions.ByHash(t.Context(), hash); err != nil || found.State != lifecycle.TransactionFailed || found.Attempt != 2 {
		t.Errorf("a late press did something: %+v, %v", found, err)
	}

	for words, said := range map[string]string{
		"/retry": "Give the transaction's hash", "/retry x": "No such transaction", "/tx " + hashOf("x"): "No such transaction",
	} {
		w.writes(boss, "en", words)
		w.sees(boss, said)
	}

	if !w.audited("bot:/retry", "transaction/"+hash, account.OutcomeDone) {
		t.Error("the retry is not audited")
	}

	w.writes(anna, "en", "/retry "+hash)
	w.sees(anna, "Only administrators may do this")
	if !w.audited("bot:/retry", "", account.OutcomeRefused) {
		t.Error("the refusal is not audited")
	}
}

// TestOwedRefundsAreListed shows administrators, who are notified that a refund could not be paid, which one it is.
func TestOwedRefundsAreListed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.run(w.bot())
	w.opens()
	hash := w.deposits(1, "nobody")
	w.failsWith(hash, "Username not found", lifecycle.NonRetryable, true)
	w.writes(boss, "en", "/tx")
	w.presses(boss, "xt:")
	w.sees(boss, hash, "Owed to the sender: 0.5 GRAM")
}
