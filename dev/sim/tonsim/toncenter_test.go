package tonsim

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/dev/sim/simtest"
)

const ton = 1_000_000_000

// payer is the owner of the service's wallet and signs with another library.
type payer struct {
	key  ed25519.PrivateKey
	sim  *TonCenter
	url  string
	test testing.TB
}

// chainTest is a served chain whose wallet has 10 TON.
func chainTest(t testing.TB, change func(*TonCenterOptions)) *payer {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	o := TonCenterOptions{PublicKey: hex.EncodeToString(key.Public().(ed25519.PublicKey))}
	if change != nil {
		change(&o)
	}

	sim, err := NewTonCenter(o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = sim.Close() })
	return &payer{key: key, sim: sim, url: simtest.Serve(t, sim), test: t}
}

// order is one payment out of the wallet.
type order struct {
	seqno  uint32
	ttl    time.Duration // from now on
	to     string
	amount uint64
	bounce bool
	body   *cell.Cell
}

// sign makes a real V5R1 message with the library, and returns it with its normalized hash in base64.
func (p *payer) sign(o order) (*cell.Cell, string) {
	p.test.Helper()
	w, err := wallet.FromPrivateKeyWithOptions(p.key, wallet.ConfigV5R1Final{NetworkGlobalID: wallet.MainnetGlobalID})
	if err != nil {
		p.test.Fatal(err)
	}

	spec := w.GetSpec().(*wallet.SpecV5R1Final)
	spec.SetMessagesTTL(uint32(int64(o.ttl / time.Second)))
	spec.SetSeqnoFetcher(func(context.Context, uint32) (uint32, error) { return o.seqno, nil })
	to, err := parseAccount(o.to)
	if err != nil {
		p.test.Fatal(err)
	}

	message, err := w.PrepareExternalMessageForMany(p.test.Context(), false, []*wallet.Message{{
		Mode: wallet.PayGasSeparately + wallet.IgnoreErrors,
		InternalMessage: &tlb.InternalMessage{
			IHRDisabled: true, Bounce: o.bounce, DstAddr: to, Amount: tlb.FromNanoTONU(o.amount), Body: o.body,
		},
	}})
	if err != nil {
		p.test.Fatal(err)
	}

	whole, err := tlb.ToCell(message)
	if err != nil {
		p.test.Fatal(err)
	}
	return whole, base64.StdEncoding.EncodeToString(message.NormalizedHash())
}

// broadcast posts a message and returns the status and the response.
func (p *payer) broadcast(message *cell.Cell) (int, map[string]any) {
	p.test.Helper()
	return p.call("POST", "message", map[string]any{"boc": base64.StdEncoding.EncodeToString(message.ToBOC())})
}

func (p *payer) call(method, path string, body any) (int, map[string]any) {
	p.test.Helper()
	status, data := simtest.Do(p.test, method, p.url+"/api/v3/"+path, body)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		p.test.Fatalf("%s: %d %q: %v", path, status, data, err)
	}
	return status, answer
}

// history requests the wallet's transactions, oldest first.
func (p *payer) history(of, query string) []transactionView {
	p.test.Helper()
	status, data := simtest.Do(
		p.test, "GET", p.url+"/api/v3/transactions?sort=asc&limit=1000&account="+url.QueryEscape(of)+query, nil,
	)
	if status != http.StatusOK {
		p.test.Fatalf("%d %s", status, data)
	}
	return p.decode(data)
}

// decode reads transactions as a client would; the decoder of cells and hashes is only for tests.
func (p *payer) decode(data []byte) []transactionView {
	p.test.Helper()
	var answer struct {
		Transactions []transactionView `json:"transactions"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		p.test.Fatalf("%s: %v", data, err)
	}
	return answer.Transactions
}

func (p *payer) deposit(d Deposit) string {
	p.test.Helper()
	status, data := simtest.Do(p.test, "POST", p.url+"/_/deposits", d)
	var answer struct {
		Hash string `json:"hash"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || status != http.StatusOK || len(answer.Hash) != 64 {
		p.test.Fatalf("%d %s %v", status, data, err)
	}
	return answer.Hash
}
