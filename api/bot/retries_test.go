package bot

import (
	"strings"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// failsAgain fails a transaction's try under a policy, and lets the system retry it if it may.
func (w *rig) failsAgain(hash string, p transaction.RetryPolicy) {
	w.t.Helper()
	ctx := w.t.Context()
	t, err := w.store.Transactions.ByHash(ctx, hash)
	if err == nil {
		_, err = w.store.Transactions.Fail(ctx, transaction.Failure{
			Hash: hash, Attempt: t.Attempt, Message: stars.CannotGift.Message, Class: lifecycle.Retryable, Retry: p,
		})
	}

	if err == nil {
		_, err = w.store.Transactions.Retry(ctx, transaction.Request{Hash: hash, Attempt: t.Attempt, System: true})
	}

	if err != nil {
		w.t.Fatal(err)
	}
}

// TestRetriesAreNotifiedOnce lets an order fail again and again: its user is notified once that it is tried again, and
// once of the end, in their language. An operator's retry that fails brings no further notice.
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
			goesOn := transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}
			over := transaction.RetryPolicy{Ask: true}

			hash := w.deposits(1, "anna")
			w.failsAgain(hash, goesOn)
			w.sees(anna, texts[0], texts[1])
			w.failsAgain(hash, goesOn)
			w.failsAgain(hash, over)
			w.sees(anna, texts[0], texts[2])

			given, err := w.store.Transactions.ByHash(t.Context(), hash)
			if err != nil || !given.GivenUp() {
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
