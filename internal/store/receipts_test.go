package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/transaction"
)

// TestReceipts finds transactions by their keys and by their recipient.
func TestReceipts(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("payer", 2*coin)
	found := b.tx(hash)
	if found.QuotedAt == nil {
		t.Error("it is priced, and nobody knows when")
	}

	receipt, err := b.Transactions.ByReceipt(t.Context(), found.ReceiptKey)
	b.must(err)
	if receipt.Hash != hash || len(found.ReceiptKey) != 32 {
		t.Errorf("the key %q opens %q", found.ReceiptKey, receipt.Hash)
	}

	for _, other := range []string{"", "1", hash, "00000000000000000000000000000000"} {
		if _, err := b.Transactions.ByReceipt(t.Context(), other); fault.CodeOf(err) != fault.ReceiptNotFound {
			t.Errorf("%q: %v", other, err)
		}
	}

	entries, err := b.Transactions.LedgerOf(t.Context(), hash)
	b.must(err)
	sum := int64(0)
	for _, posting := range entries[0].Postings {
		sum += posting.BalanceNano
	}

	if len(entries) != 1 || len(entries[0].Postings) != 3 || sum != 0 || entries[0].Postings[1].Account != transaction.AccountReceived {
		t.Errorf("entries %+v", entries)
	}
}
