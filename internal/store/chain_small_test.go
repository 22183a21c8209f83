package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/store/transaction"
)

// TestSmallTransfers notifies a person of a transfer below the minimum that names them: of one per day, of no old one,
// and nobody else.
func TestSmallTransfers(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	user := b.user(7)
	b.must(b.Accounts.SaveUsername(t.Context(), user.ID, "@Durov"))
	small := func(username, source string, change func(*transaction.ChainTransaction)) string {
		made := transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, FeeNano: 1, In: transaction.InMessage{Source: source, Nano: 2}, Comment: username,
			TooSmallFor: username,
		}
		if change != nil {
			change(&made)
		}
		hash := b.happens(made).Hash
		b.scan()
		return hash
	}

	due := func() (hashes []string) {
		found, err := b.Notices.Due(t.Context(), []string{transaction.SmallTransferNotices}, 10)
		b.must(err)
		for _, n := range found {
			if n.UserID != user.ID || len(n.Seqs) != 1 {
				t.Errorf("%+v", n)
			}
			hashes = append(hashes, n.EntityID)
		}
		return hashes
	}

	small("nobody", address("ann"), nil)
	small("durov", b.wallet, nil)
	small("durov", address("ann"), func(c *transaction.ChainTransaction) {
		c.Aborted, c.Out = true, []transaction.OutMessage{{Destination: address("ann"), Nano: 1}}
	})
	if told := due(); len(told) != 0 {
		t.Errorf("told of %v", told)
	}

	first := small("DUROV", address("ann"), nil)
	small("durov", address("bob"), nil)
	if told := due(); len(told) != 1 || told[0] != first {
		t.Errorf("told of %v, want %s only", told, first)
	}
	if n := b.count("transactions"); n != 0 {
		t.Errorf("%d transfers became orders", n)
	}

	b.exec(`UPDATE news SET state = 'sent', due_at = now() - interval '25 hours'`)
	next := small("durov", address("ann"), nil)
	if told := due(); len(told) != 1 || told[0] != next {
		t.Errorf("on the next day told of %v, want %s", told, next)
	}

	b.exec(`DELETE FROM news`)
	b.now = b.now.Add(-48 * time.Hour) // found in a wallet's history
	small("durov", address("ann"), nil)
	if told := due(); len(told) != 0 {
		t.Errorf("told of an old one: %v", told)
	}
}
