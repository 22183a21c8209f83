package bot

import (
	"strings"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// failsAgain fails an attempt to buy an order under a policy. An order that has already failed starts a new attempt.
func (w *rig) failsAgain(hash string, p transaction.RetryPolicy) {
	w.t.Helper()
	t, err := w.store.Transactions.ByHash(w.t.Context(), hash)
	if err == nil && t.State == lifecycle.TransactionFailed {
		w.eventually("its next attempt begins", func() bool { return w.begins(hash, "anna") == nil })
	}

	claim, err := w.claim(hash)
	if err == nil {
		_, err = w.store.Transactions.Fail(w.t.Context(), transaction.Failure{
			Claim: claim, Message: stars.CannotGift.Message, Class: lifecycle.Retryable, Retry: p,
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestRetriesAreNotifiedOnce makes an order fail again and again: its user is notified once of the retries, and once of
// the end, in their language. A failed retry by an operator brings no further notice.
func TestRetriesAreNotifiedOnce(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][3]string{
		"en": {"cannot be given Stars", "will be retried automatically", "The administrators have been notified"},
		"ru": {"нельзя подарить", "покупка повторится автоматически", "администраторы уведомлены"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.run(w.bot())
			w.opens()
			w.calledSo(anna, language, "anna", "/start")
			w.eventually("the name", func() bool { return w.user(anna).Username == "anna" })
			goesOn := transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond, Ask: true}
			over := transaction.RetryPolicy{Ask: true}

			hash := w.deposits(1, "anna")
			w.failsAgain(hash, goesOn)
			w.sees(anna, texts[0], texts[1])
			w.failsAgain(hash, goesOn)
			w.failsAgain(hash, over)
			w.sees(anna, texts[0], texts[2])

			given, err := w.store.Transactions.ByHash(t.Context(), hash)
			if err != nil || given.GivenUpAt == nil {
				t.Fatal(given, err)
			}
			if _, err := w.store.Transactions.Retry(t.Context(), transaction.Request{Hash: hash, Attempt: given.Attempt}); err != nil {
				t.Fatal(err)
			}

			w.failsAgain(hash, goesOn)
			w.failsAgain(hash, over)
			time.Sleep(3 * noticeTick)
			if n := w.shows(anna, texts[0]); n != 2 {
				t.Errorf("notified %d times, want 2", n)
			}

			w.eventually("rest", func() bool { return strings.Join(w.noticeStates(), " ") == "sent sent" })
		})
	}
}
