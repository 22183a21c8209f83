package tonsim

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/internal/money"
	addresses "stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// TestSecondTonCenter reads the first one's chain from it, with and without Lies.
func TestSecondTonCenter(t *testing.T) {
	t.Parallel()
	chain := chainTest(t, nil)
	first, second := chain.sim, NewSecondTonCenter(chain.url)
	url := simtest.Serve(t, second)
	t.Cleanup(func() { _ = second.Close() })
	client := toncenter.New(toncenter.Options{URL: url, RequestsPerSecond: 1000})
	wallet, _, err := addresses.ParseAddress(first.Wallet())
	if err != nil {
		t.Fatal(err)
	}

	hash, err := first.Deposit(Deposit{AmountNano: 2e9, Comment: "durov 50"})
	if err != nil {
		t.Fatal(err)
	}

	look := func(lies Lies) []toncenter.Transaction {
		t.Helper()
		if err := second.Tell(lies); err != nil {
			t.Fatal(err)
		}
		found, err := client.Transactions(t.Context(), toncenter.Page{Account: wallet})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	is := func(what string, found []toncenter.Transaction, nano money.Nano, comment string) {
		t.Helper()
		if len(found) != 1 || found[0].Hash != hash || found[0].In.Value != nano || found[0].In.Comment == nil || *found[0].In.Comment != comment {
			t.Errorf("%s: %+v", what, found)
		}
	}

	is("the truth", look(Lies{}), 2e9, "durov 50")
	is("another amount", look(Lies{AmountNano: 3e9}), 3e9, "durov 50")
	is("another comment", look(Lies{Comment: "anna 50"}), 2e9, "anna 50")
	other := "0:" + strings.Repeat("AB", 32)
	if found := look(Lies{Sender: other}); len(found) != 1 || found[0].In.Source.Raw() != strings.ToLower(other) {
		t.Errorf("another sender: %+v", found)
	}
	if found := look(Lies{Missing: true}); len(found) != 0 {
		t.Errorf("it is missing: %+v", found)
	}
	if found := look(Lies{BehindMS: 60_000}); len(found) != 0 {
		t.Errorf("a source behind knows %+v", found)
	}

	head, err := client.Head(t.Context())
	if behind := time.Since(head.At); err != nil || behind < 55*time.Second {
		t.Errorf("a source behind is at %s, %v", behind, err)
	}

	second.AddFault(sim.Fault{Kind: "503", Times: 1})
	response, err := http.Get(url + "/api/v3/masterchainInfo")
	if err != nil {
		t.Fatal(err)
	}

	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("down it answers %d", response.StatusCode)
	}
}
