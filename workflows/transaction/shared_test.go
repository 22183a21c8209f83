package transaction_test

import (
	"fmt"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	transactionstore "stagecoach/internal/store/transaction"
)

// shared lets purchases give the wallet free early, and several share a message, on a chain that takes its time.
func shared(s *setup) {
	s.settings.Overlap, s.settings.Parts = true, 3
	s.settings.PaymentTTL = 20 * time.Second
	s.chain.BlockTime, s.chain.Finality = 300*time.Millisecond, 300*time.Millisecond
}

// waiting makes orders of different senders that are in line when payments go on.
func (w *rig) waiting(n int) (hashes []string) {
	w.Helper()
	w.must(w.client.Pause(w.Context(), w.admin, "", "a test"))
	for i := range n {
		hashes = append(hashes, w.depositAs(tonsim.Deposit{
			From: fmt.Sprint("sender", i), AmountNano: 1e9, Comment: fmt.Sprint("durov ", 50+i),
		}))
	}
	w.eventually("they are in line", func() bool {
		for _, hash := range hashes {
			if w.get(hash).QuoteNano == 0 || !w.inLine(hash) {
				return false
			}
		}
		return true
	})
	w.must(w.client.Resume(w.Context(), ""))
	return hashes
}

// TestPurchasesShareMessages buys what waits in line with few messages. An order whose payment was signed along with
// another one's signs nothing itself.
func TestPurchasesShareMessages(t *testing.T) {
	t.Parallel()
	w := newRig(t, shared)
	hashes := w.waiting(7)
	messages, along := map[int64]int{}, 0
	for _, hash := range hashes {
		w.becomes(hash, lifecycle.TransactionProcessed)
		payments := w.payments(hash)
		if len(payments) != 1 || payments[0].State != transactionstore.PaymentPaid {
			t.Fatalf("%.8s: %+v", hash, payments)
		}
		messages[payments[0].Seqno]++
		if payments[0].Part > 0 {
			along++
			if n := w.scheduled(hash, "PayOrder"); n != 0 {
				t.Errorf("%.8s was signed along with another, and tried to sign %d times", hash, n)
			}
		}
	}

	if len(messages) != 3 || along != 4 {
		t.Errorf("messages by their seqno: %v, %d along with others", messages, along)
	}
	w.wantSold(len(hashes))
	w.balances()
}

// TestConfirmationsWaitForDrafts buys with messages of many purchases: while one is drafted nothing is confirmed, as that
// would delay all of its purchases, and nothing but confirmations can be asked while it is under way.
func TestConfirmationsWaitForDrafts(t *testing.T) {
	t.Parallel()
	w := newRig(t, shared, func(s *setup) { s.settings.Parts = 6 })
	settings := w.fragment.CurrentSettings()
	settings.LatencyMS = 40
	w.must(w.fragment.Set(settings))
	for _, hash := range w.waiting(18) {
		w.becomes(hash, lifecycle.TransactionProcessed)
	}

	begun, inits, confirmed := 0, 0, 0
	for _, call := range w.fragment.Requests() {
		switch call.Call {
		case "initBuyStarsRequest":
			inits++
			begun = inits % 6
		case "confirmReq":
			confirmed++
			if begun > 1 { // the first one is requested before its message is drafted
				t.Errorf("a confirmation after %d of 6 purchases of a message", begun)
			}
		}
	}
	if inits != 18 || confirmed < 18 {
		t.Errorf("%d purchases were requested, %d confirmations", inits, confirmed)
	}
}

// scheduled counts the activities of a type in a workflow's history.
func (w *rig) scheduled(hash, activity string) (n int) {
	w.Helper()
	for _, event := range w.history(hash) {
		if event.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED && event.GetActivityTaskScheduledEventAttributes().ActivityType.Name == activity {
			n++
		}
	}
	return n
}

// TestShopThatServesTheLastRequestOnly overlaps purchases at a shop that forgets the earlier ones: what it says of the
// last one is no proof of another, and a person looks.
func TestShopThatServesTheLastRequestOnly(t *testing.T) {
	t.Parallel()
	w := newRig(t, shared, func(s *setup) { s.settings.ConfirmPatience = 10 * time.Second })
	settings := w.fragment.CurrentSettings()
	settings.OnlyLast = true
	w.must(w.fragment.Set(settings))

	hashes, reviews := w.waiting(3), 0
	for _, hash := range hashes {
		w.eventually("it is decided", func() bool {
			got := w.get(hash)
			return got.NeedsReview || got.State == lifecycle.TransactionProcessed
		})
		if got := w.get(hash); got.NeedsReview {
			reviews++
			if got.ReviewReason != transactionstore.ReviewNotConfirmed {
				t.Errorf("%+v", got)
			}
		}
	}

	if bought, strays := w.sold(); reviews != 2 || len(bought) != 1 || len(strays) != 2 {
		t.Errorf("%d reviews, bought %+v, kept for nothing %+v", reviews, bought, strays)
	}
}

// TestRecordHistoriesOfSharedMessages saves the history of an order that was signed along with another.
func TestRecordHistoriesOfSharedMessages(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, shared)
	for _, hash := range w.waiting(2) {
		_ = w.over(hash)
		name := []string{"processed-with-another", "processed-along-with-another"}[w.payments(hash)[0].Part]
		version.Save(t, "", name, w.history(hash))
	}
}
