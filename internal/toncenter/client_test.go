package toncenter

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/ton"
)

// rig is a wallet with 10 TON on its own chain.
type rig struct {
	*Client
	sim    *tonsim.TonCenter
	wallet *ton.Wallet
	shop   ton.Address
}

func newRig(t *testing.T, change func(*tonsim.TonCenterOptions, *Options)) *rig {
	t.Helper()
	key, err := ton.ParseKey(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}

	wallet, err := ton.NewWallet(key, ton.Mainnet)
	if err != nil {
		t.Fatal(err)
	}

	so, o := tonsim.TonCenterOptions{PublicKey: wallet.PublicKey()}, Options{RequestsPerSecond: 1e6}
	if change != nil {
		change(&so, &o)
	}

	chain, err := tonsim.NewTonCenter(so)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = chain.Close() })
	url, stop, err := sim.Start("127.0.0.1:0", chain)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(stop)
	o.URL = url
	w := &rig{Client: New(o), sim: chain, wallet: wallet}
	w.shop = address(t, chain.Shop())
	if got := address(t, chain.Wallet()); got != wallet.Address() {
		t.Fatalf("the chain's wallet is %s, ours %s", got.Raw(), wallet.Address().Raw())
	}

	return w
}

func address(t *testing.T, text string) ton.Address {
	t.Helper()
	a, _, err := ton.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (w *rig) sign(t *testing.T, seqno uint32, p ton.Payment) ton.Signed {
	t.Helper()
	if p.To == (ton.Address{}) {
		p.To = w.shop
	}
	signed, err := w.wallet.Sign(seqno, time.Now().Add(time.Minute).Truncate(time.Second), p)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func (w *rig) history(t *testing.T) []Transaction {
	t.Helper()
	all, _, err := w.Transactions(t.Context(), Page{Account: w.wallet.Address()})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPayment(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(o *tonsim.TonCenterOptions, _ *Options) { o.Undeployed = true })
	deposit, err := w.sim.Deposit(tonsim.Deposit{AmountNano: 2e9, Comment: "@durov 50"})
	if err != nil {
		t.Fatal(err)
	}

	body, err := ton.CommentBody("10000 Telegram Stars \n\nRef#" + strings.Repeat("x", 150))
	if err != nil {
		t.Fatal(err)
	}

	for seqno := range uint32(2) { // the first includes the contract
		before, err := w.Wallet(t.Context(), w.wallet.Address())
		if err != nil || before.Seqno != seqno || before.Active != (seqno > 0) || before.Balance < money.TON {
			t.Fatalf("%+v %v", before, err)
		}

		signed := w.sign(t, seqno, ton.Payment{Amount: 460_900_000, Body: body})
		bodyHash, _ := ton.BodyHash(body)
		receipt, err := w.Broadcast(t.Context(), signed.BoC)
		if err != nil || receipt.Outcome != Accepted {
			t.Fatalf("%+v %v, want %s", receipt, err, signed.Hash)
		}

		receipt, err = w.Broadcast(t.Context(), signed.BoC)
		if err != nil || receipt != (Receipt{Outcome: Rejected, ExitCode: 133}) {
			t.Errorf("again: %+v %v", receipt, err)
		}

		found, err := w.TransactionsByMessage(t.Context(), signed.Hash)
		if err != nil || len(found) != 1 || found[0].In.NormHash != signed.Hash || !sent(found[0], w.shop, 460_900_000, bodyHash) {
			t.Fatalf("%+v %v", found, err)
		}
		if sent(found[0], w.shop, 460_900_001, bodyHash) || sent(found[0], w.wallet.Address(), 460_900_000, bodyHash) ||
			sent(found[0], w.shop, 460_900_000, strings.Repeat("0", 64)) {
			t.Error("another payment passes for this one")
		}
		if found[0].IsDeposit() {
			t.Error("a payment passes for a deposit")
		}

		received, err := w.TransactionsByMessage(t.Context(), found[0].Out[0].Hash)
		if err != nil || len(received) != 1 || received[0].Account != w.shop || received[0].SentBack() || *received[0].In.Comment != *found[0].Out[0].Comment {
			t.Errorf("%+v %v", received, err)
		}
	}

	all := w.history(t)
	if len(all) != 3 || all[0].Hash != deposit || !all[0].IsDeposit() || *all[0].In.Comment != "@durov 50" || all[0].In.Value != 2*money.TON {
		t.Fatalf("%+v", all)
	}
	if !all[0].Aborted || all[0].Compute != nil {
		t.Error("a deposit to a wallet without a contract ran one")
	}

	for i := 1; i < len(all); i++ {
		if all[i].PrevLT != all[i-1].LT || all[i].PrevHash != all[i-1].Hash || all[i].Finality != Finalized {
			t.Errorf("%+v does not follow", all[i])
		}
	}

	next, more, err := w.Transactions(
		t.Context(), Page{Account: w.wallet.Address(), FromLT: all[0].LT + 1, ToLT: all[1].LT, Limit: 5},
	)
	if err != nil || len(next) != 1 || next[0].Hash != all[1].Hash || more {
		t.Errorf("%+v %v", next, err)
	}
}

func TestNothingPaid(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	signed := w.sign(t, 0, ton.Payment{Amount: 11 * money.TON})
	if receipt, err := w.Broadcast(t.Context(), signed.BoC); err != nil || receipt.Outcome != Accepted {
		t.Fatalf("%+v %v", receipt, err)
	}

	tx := w.history(t)[0]
	bodyHash, _ := ton.BodyHash(nil)
	if sent(tx, w.shop, 11*money.TON, bodyHash) || tx.Action.Skipped != 1 || tx.Aborted || !tx.Compute.Success {
		t.Errorf("%+v %+v", tx, tx.Action)
	}

	state, err := w.Wallet(t.Context(), w.wallet.Address())
	if err != nil || state.Seqno != 1 {
		t.Errorf("%+v %v", state, err)
	}
}

func TestBounce(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	nobody := address(t, "0:"+strings.Repeat("9", 64))
	signed := w.sign(t, 0, ton.Payment{To: nobody, Amount: money.TON, Bounce: true})
	if receipt, err := w.Broadcast(t.Context(), signed.BoC); err != nil || receipt.Outcome != Accepted {
		t.Fatalf("%+v %v", receipt, err)
	}

	all := w.history(t)
	bodyHash, _ := ton.BodyHash(nil)
	if len(all) != 2 || !sent(all[0], nobody, money.TON, bodyHash) || !all[1].In.Bounced || all[1].IsDeposit() || all[1].In.Source != nobody {
		t.Fatalf("%+v", all)
	}

	received, err := w.TransactionsByMessage(t.Context(), all[0].Out[0].Hash)
	if err != nil || len(received) != 1 || !received[0].SentBack() {
		t.Errorf("%+v %v", received, err)
	}
}

func TestHeadAndFinality(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	w := newRig(t, func(o *tonsim.TonCenterOptions, c *Options) {
		o.Clock, o.Finality = func() time.Time { return start }, 10*time.Second
		c.Now = o.Clock
	})
	if _, err := w.sim.Deposit(tonsim.Deposit{AmountNano: 1}); err != nil {
		t.Fatal(err)
	}

	for _, want := range []Finality{Pending, Confirmed, Finalized} {
		head, err := w.Head(t.Context())
		tx := w.history(t)[0]
		if err != nil || tx.Finality != want || !tx.At.Equal(start) || head.Seqno == 0 {
			t.Errorf("%s, want %s, head %+v %v", tx.Finality, want, head, err)
		}
		if final := !head.At.Before(start); final != (want == Finalized) {
			t.Errorf("%s at %v", want, head.At)
		}
		if err := w.sim.Steer(tonsim.Steering{AdvanceMS: 5000}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	w.sim.AddFault(sim.Fault{Match: "message", Kind: "lost_answer", Times: 1})
	signed := w.sign(t, 0, ton.Payment{Amount: money.TON})
	receipt, err := w.Broadcast(t.Context(), signed.BoC)
	if receipt.Outcome != Unknown || fault.CodeOf(err) != fault.ChainUnavailable || !fault.As(err).Retryable {
		t.Errorf("%+v %v", receipt, err)
	}
	if all := w.history(t); len(all) != 1 || all[0].In.NormHash != signed.Hash {
		t.Errorf("%+v", all)
	}
}

// gateway answers every call with one status and one body.
func gateway(t *testing.T, status int, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return New(Options{URL: server.URL, APIKey: "s3cr3t", RequestsPerSecond: 1e6})
}

func TestBroadcastOutcomes(t *testing.T) {
	t.Parallel()
	const refused = `LITE_SERVER_UNKNOWN: cannot apply external message to current state : External message was not accepted\nCannot run message on account: inbound external message rejected by `
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for name, c := range map[string]struct {
		status int
		body   string
		want   Receipt
		code   fault.Code
	}{
		"accepted": {
			200, fmt.Sprintf(`{"message_hash":%q,"message_hash_norm":%q}`, hash, hash),
			Receipt{Outcome: Accepted},
			"",
		},
		"133":           {500, `{"error":"` + refused + `transaction A1:\nexitcode=133, steps=24, gas_used=0\nVM Log"}`, Receipt{Outcome: Rejected, ExitCode: 133}, ""},
		"136":           {500, `{"error":"` + refused + `transaction A1:\nexitcode=136, steps=24"}`, Receipt{Outcome: Rejected, ExitCode: 136}, ""},
		"negative":      {500, `{"error":"` + refused + `transaction A1:\nexitcode=-14, steps=24"}`, Receipt{Outcome: Rejected, ExitCode: -14}, ""},
		"no contract":   {500, `{"error":"` + refused + `account before smart-contract execution"}`, Receipt{Outcome: Rejected}, ""},
		"duplicate":     {500, `{"error":"LITE_SERVER_UNKNOWN: Duplicate message"}`, Receipt{Outcome: Rejected}, ""},
		"bad boc":       {422, `{"error":"failed to parse boc"}`, Receipt{Outcome: Rejected}, ""},
		"other 500":     {500, `{"error":"LITE_SERVER_NETWORK timeout"}`, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
		"page":          {502, `<html>exitcode=133</html>`, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
		"gateway":       {504, ``, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
		"rate":          {429, `{"ok":false,"result":"Ratelimit exceed","code":429}`, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
		"key":           {401, `{"ok":false,"result":"API key does not exist","code":401}`, Receipt{Outcome: Unknown}, fault.ChainUnauthorized},
		"bad request":   {400, `{"error":"exitcode=133"}`, Receipt{Outcome: Unknown}, fault.ChainProtocol},
		"no hash":       {200, `{}`, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
		"no JSON":       {200, `OK`, Receipt{Outcome: Unknown}, fault.ChainProtocol},
		"half a hash":   {200, `{"message_hash":"AAAA"}`, Receipt{Outcome: Unknown}, fault.ChainProtocol},
		"error with ok": {200, `{"error":"exitcode=133"}`, Receipt{Outcome: Unknown}, fault.ChainUnavailable},
	} {
		got, err := gateway(t, c.status, c.body).Broadcast(t.Context(), []byte{1})
		if got != c.want || fault.CodeOf(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %+v %v, want %+v %s", name, got, err, c.want, c.code)
		}
		if f := fault.As(err); name == "rate" && f.RetryAfter != 7*time.Second {
			t.Errorf("%s: wait %s", name, f.RetryAfter)
		}
	}
}

// quiet are the fields of a transaction in which nothing happened.
const quiet = `"description":{},"out_msgs":[]`

func TestNonsenseAnswers(t *testing.T) {
	t.Parallel()
	h := base64.StdEncoding.EncodeToString(make([]byte, 32))
	other := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))
	zero := "0:" + strings.Repeat("0", 63) + "1"
	tx := func(account, hash, lt, value string) string {
		return fmt.Sprintf(
			`{"account":%q,"hash":%q,"lt":%s,"now":1,%s,"in_msg":{"hash":%q,"source":null,"value":%s}}`, account, hash, lt, quiet, h,
			value,
		)
	}

	for name, body := range map[string]string{
		"no JSON": `<html>`, "another account": tx("0:"+strings.Repeat("2", 64), h, `"9"`, `"1"`), "no account": tx("", h, `"9"`, `"1"`),
		"no hash": tx(zero, "", `"9"`, `"1"`), "short hash": tx(zero, "AAAA", `"9"`, `"1"`), "no lt": tx(zero, h, `"0"`, `"1"`),
		"before the first": tx(zero, h, `"3"`, `"1"`), "negative": tx(zero, h, `"9"`, `"-1"`), "float": tx(zero, h, `"9"`, `1.5`),
		"too much": tx(zero, h, `"9"`, `"9223372036854775808"`), "order": tx(zero, h, `"9"`, `"1"`) + "," + tx(zero, other, `"8"`, `"1"`),
		"two of one time": tx(zero, h, `"9"`, `"1"`) + "," + tx(zero, other, `"9"`, `"1"`), "no messages out": strings.Replace(tx(zero, h, `"9"`, `"1"`), `[]`, `null`, 1),
		"no description": strings.Replace(tx(zero, h, `"9"`, `"1"`), `{}`, `null`, 1), "no time": strings.Replace(tx(zero, h, `"9"`, `"1"`), `"now":1,`, ``, 1),
	} {
		_, _, err := gateway(t, 200, `{"transactions":[`+body+`]}`).Transactions(
			t.Context(), Page{Account: address(t, zero), FromLT: 5},
		)
		if fault.CodeOf(err) != fault.ChainProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}

	for name, body := range map[string]string{
		"seqno":    `{"status":"active","balance":"1","last_transaction_lt":"5","seqno":4294967296}`,
		"no seqno": `{"status":"active","balance":"1","last_transaction_lt":"5"}`,
		"balance":  `{"status":"active","balance":"x","last_transaction_lt":"5","seqno":1}`,
	} {
		if _, err := gateway(t, 200, body).Wallet(t.Context(), address(t, zero)); fault.CodeOf(err) != fault.ChainProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}

	for name, body := range map[string]string{"empty": `{"last":{}}`, "no time": `{"last":{"seqno":5}}`, "far": `{"last":{"seqno":5,"gen_utime":"4294967296"}}`} {
		if _, err := gateway(t, 200, body).Head(t.Context()); fault.CodeOf(err) != fault.ChainProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}

	now := time.Now().Unix()
	if head, err := gateway(t, 200, fmt.Sprintf(`{"last":{"seqno":5,"gen_utime":%d}}`, now)).Head(t.Context()); err != nil || head.At.Unix() != now {
		t.Errorf("numbers without quotation marks: %+v %v", head, err)
	}
	if _, err := gateway(t, 200, `{}`).TransactionsByMessage(t.Context(), "xyz"); fault.CodeOf(err) != fault.Validation {
		t.Errorf("%v", err)
	}
}

// Without a body, toncenter's description of it must suffice.
func TestMissingBody(t *testing.T) {
	t.Parallel()
	h := base64.StdEncoding.EncodeToString(make([]byte, 32))
	body := fmt.Sprintf(
		`{"transactions":[{"account":"0:%064d","hash":%q,"lt":"9","now":1,%s,"in_msg":{"hash":%q,"source":"0:%064d","opcode":"0x7362d09c","message_content":null}}]}`,
		1, h, quiet, h, 2,
	)
	all, err := gateway(t, 200, body).TransactionsByMessage(t.Context(), strings.Repeat("a", 64))
	if err != nil || all[0].IsDeposit() || *all[0].In.Opcode != 0x7362d09c || all[0].Finality != Pending {
		t.Errorf("%+v %v", all, err)
	}
}

// TestUnreadableMessages reads a page in which senders have written anything: each message is recognized for what it
// is, and only an unreadable message of our own is an error.
func TestUnreadableMessages(t *testing.T) {
	t.Parallel()
	h := base64.StdEncoding.EncodeToString(make([]byte, 32))
	read := func(source, content string) ([]Transaction, error) {
		return gateway(t, 200, fmt.Sprintf(
			`{"transactions":[{"account":"0:%064d","hash":%q,"lt":"9","now":1,%s,"in_msg":{"hash":%q,"source":%s,"value":"5","message_content":%s}}]}`,
			1, h, quiet, h, source, content,
		)).TransactionsByMessage(t.Context(), strings.Repeat("a", 64))
	}
	customer := fmt.Sprintf(`"0:%064d"`, 2)

	for decoded, comment := range map[string]string{
		`"a text"`: "", `[1,{}]`: "", `17`: "", `{"type":["x"]}`: "", `{"type":"text_comment","comment":{}}`: "", `null`: "",
		`{"type":"text_comment","comment":"durov 50"}`: "durov 50",
	} {
		all, err := read(customer, `{"decoded":`+decoded+`}`)
		if err != nil || !all[0].IsDeposit() || (comment != "") != (all[0].In.Comment != nil) ||
			comment != "" && *all[0].In.Comment != comment {
			t.Errorf("%s: %+v %v", decoded, all, err)
		}
	}

	all, err := read(customer, `{"body":"AAAA","decoded":{"type":"text_comment","comment":"durov 50"}}`)
	if err != nil || !all[0].In.Unreadable || all[0].IsDeposit() || all[0].In.Comment != nil || all[0].In.Value != 5 {
		t.Errorf("a body that is no cell: %+v %v", all, err)
	}
	if all, err := read("null", `{"body":"AAAA"}`); fault.CodeOf(err) != fault.ChainProtocol {
		t.Errorf("a message of our own: %+v %v", all, err)
	}
}

// calls are all calls of the client.
var calls = map[string]func(context.Context, *Client) error{
	"transactions": func(ctx context.Context, c *Client) error { _, _, err := c.Transactions(ctx, Page{}); return err },
	"message": func(ctx context.Context, c *Client) error {
		_, err := c.TransactionsByMessage(ctx, strings.Repeat("a", 64))
		return err
	},
	"wallet":    func(ctx context.Context, c *Client) error { _, err := c.Wallet(ctx, ton.Address{}); return err },
	"head":      func(ctx context.Context, c *Client) error { _, err := c.Head(ctx); return err },
	"broadcast": func(ctx context.Context, c *Client) error { _, err := c.Broadcast(ctx, nil); return err },
}

// TestNoAnswer gets a 200 without the requested content: each call treats it as an outage, and reports it as one.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		for _, body := range []string{
			`{"ok":false}`, `{"ok":false,"result":"Ratelimit exceed","code":429}`, `{}`, `null`, `{"error":"internal"}`,
			`{"ok":false,"transactions":[],"last":{},"message_hash":"x","balance":"1","status":"active","last_transaction_lt":"1"}`,
			`{"transactions":null,"last":null,"message_hash":null,"balance":"1","status":"active","last_transaction_lt":null}`,
		} {
			c := gateway(t, 200, body)
			var told error
			c.o.OnResult = func(err error) { told = err }
			err := call(t.Context(), c)
			if f := fault.As(err); f == nil || f.Code != fault.ChainUnavailable || !f.Retryable || fault.CodeOf(told) != fault.ChainUnavailable {
				t.Errorf("%s, %s: %v, told %v", name, body, err, told)
			}
		}
	}
}

// TestRowTwice gets rows more than once, within an answer and after it: each is one transaction.
func TestRowTwice(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	for range 3 {
		if _, err := w.sim.Deposit(tonsim.Deposit{AmountNano: 1e9}); err != nil {
			t.Fatal(err)
		}
	}
	want := w.history(t)
	if err := w.sim.Steer(tonsim.Steering{Twice: new(true)}); err != nil {
		t.Fatal(err)
	}

	var got []Transaction
	for more, from := true, uint64(0); more; {
		var page []Transaction
		var err error
		if page, more, err = w.Transactions(t.Context(), Page{Account: w.wallet.Address(), FromLT: from, Limit: 3}); err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		from = got[len(got)-1].LT + 1
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	caused, err := w.TransactionsByMessage(t.Context(), want[0].In.Hash)
	if err != nil || len(caused) != 1 {
		t.Errorf("%+v %v", caused, err)
	}

	// The answer begins with the last transaction of the previous page.
	h := base64.StdEncoding.EncodeToString(make([]byte, 32))
	row := func(lt int) string {
		return fmt.Sprintf(`{"account":"0:%064d","hash":%q,"lt":"%d","now":1,%s,"in_msg":{"hash":%q}}`, 1, h, lt, quiet, h)
	}
	page := Page{Account: address(t, fmt.Sprintf("0:%064d", 1)), FromLT: 5, Limit: 2}
	found, more, err := gateway(t, 200, `{"transactions":[`+row(4)+`,`+row(6)+`]}`).Transactions(t.Context(), page)
	if err != nil || len(found) != 1 || found[0].LT != 6 || !more {
		t.Errorf("%+v, more %t, %v", found, more, err)
	}
	_, _, err = gateway(t, 200, `{"transactions":[`+row(4)+`,`+row(4)+`]}`).Transactions(t.Context(), page)
	if fault.CodeOf(err) != fault.ChainProtocol {
		t.Errorf("a full page that never ends: %v", err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for status, code := range map[int]fault.Code{
				401: fault.ChainUnauthorized, 403: fault.ChainUnauthorized, 404: fault.ChainProtocol, 429: fault.ChainUnavailable,
				500: fault.ChainUnavailable, 503: fault.ChainUnavailable,
			} {
				err := call(t.Context(), gateway(t, status, "{}"))
				wantFault(t, err, code, status == 429 || status >= 500)
			}

			impatient := newRig(t, func(_ *tonsim.TonCenterOptions, o *Options) {
				o.CallTimeout, o.APIKey = 50*time.Millisecond, "s3cr3t"
			})
			impatient.sim.AddFault(sim.Fault{Kind: "timeout"})
			wantFault(t, call(t.Context(), impatient.Client), fault.ChainUnavailable, true)

			w := newRig(t, func(_ *tonsim.TonCenterOptions, o *Options) { o.APIKey = "s3cr3t" })
			w.sim.AddFault(sim.Fault{Kind: "cut"})
			wantFault(t, call(t.Context(), w.Client), fault.ChainUnavailable, true)
			gone := New(Options{URL: "http://127.0.0.1:1", RequestsPerSecond: 1e6})
			wantFault(t, call(t.Context(), gone), fault.ChainUnavailable, true)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := call(ctx, w.Client); !errors.Is(err, context.Canceled) || fault.As(err) != nil {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

// wantFault checks an error's code, and that neither it nor anything behind it reveals private data.
func wantFault(t *testing.T, err error, code fault.Code, retryable bool) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code || f.Retryable != retryable {
		t.Fatalf("error = %v (%+v), want %s, retryable %t", err, f, code, retryable)
	}

	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
			if strings.Contains(text, "s3cr3t") || strings.Contains(text, "://") || strings.Contains(text, strings.Repeat("a", 64)) {
				t.Errorf("the error shows something private: %s", text)
			}
		}
	}
}

// TestClock refuses times more than two minutes from ours: the chain's own, and those of transactions in the future.
func TestClock(t *testing.T) {
	t.Parallel()
	const slack = 30 * time.Second // passes while the test runs
	for off, right := range map[time.Duration]bool{
		0: true, 2*time.Minute - slack: true, -2*time.Minute + slack: true, 2*time.Minute + slack: false,
		-2*time.Minute - slack: false,
		time.Hour:              false, -365 * 24 * time.Hour: false,
	} {
		body := fmt.Sprintf(`{"last":{"seqno":5,"gen_utime":"%d"}}`, time.Now().Add(off).Unix())
		if _, err := gateway(t, 200, body).Head(t.Context()); right != (err == nil) || err != nil && fault.CodeOf(err) != fault.ChainClock {
			t.Errorf("%s away: %v", off, err)
		}
	}

	w := newRig(t, func(o *tonsim.TonCenterOptions, _ *Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	})
	if _, err := w.sim.Deposit(tonsim.Deposit{AmountNano: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Transactions(t.Context(), Page{Account: w.wallet.Address()}); fault.CodeOf(err) != fault.ChainClock {
		t.Errorf("a transaction of the future: %v", err)
	}
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(_ *tonsim.TonCenterOptions, o *Options) { o.RequestsPerSecond = 20 })
	began := time.Now()
	for range 25 { // 20 at once, and the rest at 20 per second
		if _, err := w.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("25 requests in %s", took)
	}

	w = newRig(t, func(_ *tonsim.TonCenterOptions, o *Options) { o.RequestsPerSecond = 0.01 })
	_, _ = w.Head(t.Context()) // the only one for a long time
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()

	if _, err := w.Head(ctx); fault.CodeOf(err) != fault.ChainUnavailable {
		t.Errorf("no time to wait: %v", err)
	}
}

func TestLatencyIsTold(t *testing.T) {
	t.Parallel()
	var told []string
	w := newRig(t, func(_ *tonsim.TonCenterOptions, o *Options) {
		o.OnLatency = func(_ context.Context, op string, _ time.Duration) { told = append(told, op) }
	})

	_, _ = w.Head(t.Context())
	_, _ = w.Wallet(t.Context(), w.shop)
	_, _, _ = w.Transactions(t.Context(), Page{Account: w.shop})
	_, _ = w.TransactionsByMessage(t.Context(), hex.EncodeToString(make([]byte, 32)))
	_, _ = w.Broadcast(t.Context(), nil)
	if got := strings.Join(told, " "); got != "head wallet transactions message broadcast" {
		t.Error(got)
	}
}

func FuzzTransaction(f *testing.F) {
	f.Add([]byte(`{"account":"0:` + strings.Repeat(
		"1", 64,
	) + `","hash":"` + base64.StdEncoding.EncodeToString(make([]byte, 32)) + `","lt":"5","in_msg":{}}`))
	f.Add(
		[]byte(
			`{"in_msg":{"value":"1","opcode":"0x0","message_content":{"body":"te6cckEBAQEAAgAAAEysuc0="}},"out_msgs":[{}]}`,
		),
	)

	f.Fuzz(func(t *testing.T, data []byte) {
		var wire wireTransaction
		if json.Unmarshal(data, &wire) != nil {
			return
		}
		tx, err := wire.transaction()
		if err == nil && (len(tx.Hash) != 64 || tx.LT == 0 || tx.Fees < 0 || tx.In != nil && (tx.In.Value < 0 || len(tx.In.Hash) != 64)) {
			t.Errorf("%+v", tx)
		}
	})
}

// sent reports whether the transaction sent this one payment and nothing else. Whether the receiver kept it is another
// question: its transaction, found by the message's hash, must not be SentBack.
func sent(t Transaction, to ton.Address, amount money.Nano, bodyHash string) bool {
	return !t.Aborted && t.Compute != nil && t.Compute.Success && t.Compute.ExitCode == 0 &&
		t.Action != nil && t.Action.Success && t.Action.Skipped == 0 && len(t.Out) == 1 &&
		t.Out[0].Destination == to && t.Out[0].Value == amount && t.Out[0].BodyHash == bodyHash && !t.Out[0].Bounced
}
