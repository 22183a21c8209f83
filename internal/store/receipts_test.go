package store_test

import (
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/transaction"
)

// TestOldTransactionsGetReceipts migrates a database as 0.1.0 has left it, and then inserts as 0.1.0 does: each row has
// a key of its own.
func TestOldTransactionsGetReceipts(t *testing.T) {
	t.Parallel()
	url := testdb.Bare(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	w := &rig{Store: s, t: t, url: url}
	w.must(s.MigrateTo(t.Context(), lastOf010))

	const old = 2500 // more than the migration changes at once
	insert := `INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment)
		SELECT encode(sha256(n::text::bytea), 'hex'), $1, n, 1, 's', '' FROM generate_series($2::int, $3::int) n`
	wallet := address("old wallet")
	w.exec(`INSERT INTO ton_wallets (address, cursor_lt, cursor_hash) VALUES ($1, 0, '')`, wallet)
	w.exec(insert, wallet, 1, old)
	var before, after uint32
	w.scan(`SELECT pg_relation_filenode('transactions')`, &before)
	w.must(s.Migrate(t.Context()))
	w.exec(insert, wallet, old+1, old+3)

	keys := 0
	w.scan(`SELECT count(DISTINCT receipt_key) FROM transactions WHERE receipt_key ~ '^[0-9a-f]{32}$'`, &keys)
	if keys != old+3 {
		t.Errorf("%d of %d transactions have a key of their own", keys, old+3)
	}

	w.scan(`SELECT pg_relation_filenode('transactions')`, &after)
	if before != after {
		t.Error("the table was written anew")
	}

	nano := 0
	w.scan(`SELECT sum(n) FROM counts WHERE kind = 'transaction_day_nano'`, &nano)
	if nano != old {
		t.Errorf("the days have %d nano, want %d", nano, old)
	}
}

// TestReceipts finds transactions by their keys and by the user whom they are for.
func TestReceipts(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("payer", 2*coin)
	found := b.tx(hash)
	if found.QuotedAt == nil {
		t.Error("it is priced, and nobody knows when")
	}

	receipt, err := b.TransactionByReceipt(t.Context(), found.ReceiptKey)
	b.must(err)
	if receipt.Hash != hash || len(found.ReceiptKey) != 32 {
		t.Errorf("the key %q opens %q", found.ReceiptKey, receipt.Hash)
	}

	for _, other := range []string{"", "1", hash, "00000000000000000000000000000000"} {
		if _, err := b.TransactionByReceipt(t.Context(), other); fault.CodeOf(err) != fault.ReceiptNotFound {
			t.Errorf("%q: %v", other, err)
		}
	}

	entries, err := b.LedgerOf(t.Context(), hash)
	b.must(err)
	sum := int64(0)
	for _, posting := range entries[0].Postings {
		sum += posting.BalanceNano
	}

	if len(entries) != 1 || len(entries[0].Postings) != 3 || sum != 0 || entries[0].Postings[1].Account != transaction.AccountReceived {
		t.Errorf("entries %+v", entries)
	}
}
