package tonsim

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xssnick/tonutils-go/address"

	"stagecoach/dev/sim/simtest"
)

func TestChainOddDeposits(t *testing.T) {
	t.Parallel()
	p := chainTest(t, nil)
	deposits := []struct {
		deposit Deposit
		opcode  string // empty: none
		comment string // what is decoded; "-": nothing
	}{
		{Deposit{AmountNano: 0, Comment: "visit us"}, "0x00000000", "visit us"},
		{Deposit{AmountNano: ton}, "", "-"},
		{Deposit{AmountNano: ton, Kind: "binary"}, "0x00000000", "\ufffd\ufffd\x00\ufffd"},
		{Deposit{AmountNano: ton, Kind: "opcode"}, "0xd53276db", "-"},
		{Deposit{AmountNano: ton, Comment: "durov", Kind: "encrypted"}, "0x2167da4b", "-"},
		{Deposit{AmountNano: 1, Comment: "durov", Kind: "jetton"}, "0x7362d09c", "-"},
		{Deposit{AmountNano: ton, Comment: "50 Telegram Stars", Kind: "bounced"}, "0xffffffff", "-"},
	}

	for _, d := range deposits {
		p.deposit(d.deposit)
	}

	all := p.history(p.sim.Wallet(), "")
	if len(all) != len(deposits) {
		t.Fatalf("%d transactions", len(all))
	}

	for i, d := range deposits {
		m := all[i].InMsg
		opcode, comment := "", "-"
		if m.Opcode != nil {
			opcode = *m.Opcode
		}

		if m.Content.Decoded != nil {
			comment = m.Content.Decoded.Comment
		}

		if opcode != d.opcode || comment != d.comment || *m.Value != strconv.FormatInt(d.deposit.AmountNano, 10) || *m.Bounced != (d.deposit.Kind == "bounced") {
			t.Errorf("%+v: opcode %q, comment %q, %+v", d.deposit, opcode, comment, m)
		}
		if !utf8.ValidString(comment) {
			t.Errorf("%+v: decoded to other than text", d.deposit)
		}
	}

	for _, bad := range []Deposit{{Kind: "gift"}, {AmountNano: -1}, {From: "0:xyz"}, {From: strings.Repeat("E", 48)}} {
		if status, data := simtest.Do(t, "POST", p.url+"/_/deposits", bad); status != http.StatusBadRequest || !json.Valid(data) {
			t.Errorf("%+v: %d %s", bad, status, data)
		}
	}

	if from := "UQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVCgeF"; p.deposit(Deposit{From: from, AmountNano: ton}) != "" {
		all := p.history(p.sim.Wallet(), "")
		if got := *all[len(all)-1].InMsg.Source; got != strings.ToUpper(address.MustParseAddr(from).StringRaw()) {
			t.Errorf("from %s", got)
		}
	}
}

// fakeClock is a clock that only moves when a test advances it.
func fakeClock(o *TonCenterOptions) {
	start := time.Unix(1_800_000_000, 0)
	o.Clock = func() time.Time { return start }
}

func (p *payer) steer(s Steering) {
	p.test.Helper()
	if err := p.sim.Steer(s); err != nil {
		p.test.Fatal(err)
	}
}

func TestChainBlocks(t *testing.T) {
	t.Parallel()
	p := chainTest(t, func(o *TonCenterOptions) { fakeClock(o); o.BlockTime = 5 * time.Second })
	ttl := time.Until(p.sim.options.Clock()) + time.Minute // the library signs by the real clock
	first, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	rival, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: 2 * ton})
	if status, answer := p.broadcast(first); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if status, answer := p.broadcast(first); status != http.StatusInternalServerError || !strings.Contains(answer["error"].(string), "duplicate message") {
		t.Errorf("on its way already: %d %v", status, answer)
	}
	// Another order with the same seqno is valid as long as the first is not in a block; then it is dropped.
	if status, answer := p.broadcast(rival); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if n := len(p.history(p.sim.Wallet(), "")); n != 0 {
		t.Errorf("%d transactions before the block", n)
	}

	p.steer(Steering{AdvanceMS: 5000})
	if all := p.history(p.sim.Wallet(), ""); len(all) != 1 || *all[0].OutMsgs[0].Value != "1000000000" || len(p.history(p.sim.Shop(), "")) != 0 {
		t.Errorf("%+v", all)
	}

	p.steer(Steering{AdvanceMS: 5000})
	if got := p.history(p.sim.Shop(), ""); len(got) != 1 || len(p.sim.chain.state.queue) != 0 {
		t.Errorf("the next block: %+v", got)
	}
	if status, answer := p.broadcast(rival); status != http.StatusInternalServerError || !strings.Contains(answer["error"].(string), "exitcode=133") {
		t.Errorf("%d %v", status, answer)
	}
}

// TestChainIsSteeredOverHTTP makes a payment wait for its block and for its finality, and refuses invalid steering.
func TestChainIsSteeredOverHTTP(t *testing.T) {
	t.Parallel()
	p := chainTest(t, fakeClock)
	post := func(body any, want ...string) {
		t.Helper()
		status, answer := simtest.Do(t, "POST", p.url+"/_/chain", body)
		_, now := simtest.Do(t, "GET", p.url+"/_/chain", nil)
		for _, part := range append(want, p.sim.Wallet(), p.sim.Shop()) {
			if status != http.StatusOK || string(answer) != string(now) || !strings.Contains(string(answer), part) {
				t.Errorf("%v: %d %s, not %s; then %s", body, status, answer, part, now)
			}
		}
	}

	post(map[string]any{"block_time_ms": 5000, "finality_ms": 7000}, `"block_time_ms":5000`, `"finality_ms":7000`)
	ttl := time.Until(p.sim.options.Clock()) + time.Hour
	paid, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(paid); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	for _, step := range []struct {
		ms       int64
		finality string // of the payment; empty: it is not in a block
	}{{4999, ""}, {1, "pending"}, {7000, "finalized"}} {
		p.steer(Steering{AdvanceMS: step.ms})
		got := ""
		if all := p.history(p.sim.Wallet(), ""); len(all) == 1 {
			got = all[0].Finality
		}
		if got != step.finality {
			t.Errorf("after %d ms more: %q, not %q", step.ms, got, step.finality)
		}
	}

	post(map[string]any{"block_time_ms": 0}, `"block_time_ms":0`, `"finality_ms":7000`)
	next, _ := p.sign(order{seqno: 1, ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(next); status != http.StatusOK || len(p.history(p.sim.Wallet(), "")) != 2 {
		t.Errorf("not at once: %d %v", status, answer)
	}
	post(map[string]any{}, `"block_time_ms":0`, `"finality_ms":7000`)

	for body, want := range map[string]string{
		`{"block_time_ms":-1}`:                   "block_time_ms must be from 0",
		`{"finality_ms":-1}`:                     "finality_ms must be from 0",
		`{"finality_ms":9223372036854775807}`:    "finality_ms must be from 0",
		`{"finality_ms":1e30}`:                   "finality_ms",
		`{"block_time_ms":"5000"}`:               "block_time_ms",
		`{"block_time_ms":5000,"finality":1}`:    "finality",
		`{"block_time_ms":5000}{"drop":1}`:       "more than one",
		`{"block_time_ms":5000,"drop":-1}`:       "drop and hide",
		`{"block_time_ms":5000,"advance_ms":-1}`: "advance_ms must be from 0",
		`[5000]`:                                 "cannot unmarshal",
		`5000 ms`:                                "cannot unmarshal",
	} {
		status, answer := simtest.Do(t, "POST", p.url+"/_/chain", json.RawMessage(body))
		if status != http.StatusBadRequest || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	post(map[string]any{}, `"block_time_ms":0`, `"finality_ms":7000`)
}

// Held messages stay out of blocks over any time and over a restart, while deposits arrive. Once released they are in
// the next block, which is later than everything that was read before.
func TestChainHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *payer {
		return chainTest(t, func(o *TonCenterOptions) { fakeClock(o); o.Dir, o.BlockTime = dir, 5*time.Second })
	}
	control := func(p *payer, method string) {
		t.Helper()
		if status, data := simtest.Do(t, method, p.url+"/_/hold", nil); status >= 300 {
			t.Fatalf("%d %s", status, data)
		}
	}

	p := open()
	ttl := time.Until(p.sim.options.Clock()) + time.Hour // the library signs by the real clock
	control(p, "POST")
	message, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	p.steer(Steering{AdvanceMS: 60_000})
	p.deposit(Deposit{AmountNano: ton, Comment: "durov"})
	if status, answer := p.broadcast(message); status != http.StatusInternalServerError || !strings.Contains(answer["error"].(string), "duplicate message") {
		t.Errorf("on its way already: %d %v", status, answer)
	}
	if err := p.sim.Close(); err != nil {
		t.Fatal(err)
	}

	p = open()
	if all := p.history(p.sim.Wallet(), ""); len(all) != 1 || len(all[0].OutMsgs) != 0 {
		t.Fatalf("while messages are held: %+v", all)
	}
	head := p.sim.chain.head()
	control(p, "DELETE")
	if n := len(p.history(p.sim.Wallet(), "")); n != 1 {
		t.Errorf("%d transactions before the next block", n)
	}

	p.steer(Steering{AdvanceMS: 5000})
	all := p.history(p.sim.Wallet(), "")
	if len(all) != 2 || len(all[1].OutMsgs) != 1 || !time.Unix(all[1].Now, 0).After(head) {
		t.Errorf("the next block after %s: %+v", head, all)
	}
	control(p, "DELETE") // nothing is held
	p.steer(Steering{AdvanceMS: 5000})
	if n := len(p.history(p.sim.Shop(), "")); n != 1 {
		t.Errorf("the shop has %d transactions", n)
	}
}

func TestChainSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := chainTest(t, func(o *TonCenterOptions) { fakeClock(o); o.Dir = dir })
	ttl := time.Until(p.sim.options.Clock()) + time.Hour
	p.deposit(Deposit{AmountNano: 3 * ton, Comment: "durov"})
	p.deposit(Deposit{AmountNano: ton, Comment: "durov"})
	paid, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(paid); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	delay, hide := int64(30_000), 1
	p.steer(Steering{AdvanceMS: 60_000, DelayMS: &delay, Hide: &hide})
	waiting, _ := p.sign(order{seqno: 1, ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(waiting); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	_, before := simtest.Do(t, "GET", p.url+"/api/v3/transactions?sort=asc&limit=100&account="+p.sim.Wallet(), nil)
	_, chainBefore := simtest.Do(t, "GET", p.url+"/_/chain", nil)
	if err := p.sim.Close(); err != nil {
		t.Fatal(err)
	}

	// A crash leaves the last line incomplete.
	journal, err := os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString(`{"transaction":{"acc`); err != nil {
		t.Fatal(err)
	}

	_ = journal.Close()

	again := chainTest(t, func(o *TonCenterOptions) { fakeClock(o); o.Dir = dir })
	_, after := simtest.Do(t, "GET", again.url+"/api/v3/transactions?sort=asc&limit=100&account="+again.sim.Wallet(), nil)
	_, chainAfter := simtest.Do(t, "GET", again.url+"/_/chain", nil)
	if string(before) != string(after) || string(chainBefore) != string(chainAfter) {
		t.Errorf("before:\n%s%s\nafter:\n%s%s", before, chainBefore, after, chainAfter)
	}

	again.steer(Steering{AdvanceMS: 30_000, Reveal: true})
	if all := again.history(again.sim.Wallet(), ""); len(all) != 4 || all[3].PrevLT != all[2].LT {
		t.Errorf("what was on its way did not arrive: %+v", all)
	}
	if status, answer := again.broadcast(waiting); status != http.StatusInternalServerError {
		t.Errorf("it can be paid twice: %d %v", status, answer)
	}
}

// Many people deposit while the wallet pays: every transaction follows the previous one.
func TestChainRace(t *testing.T) {
	t.Parallel()
	p := chainTest(t, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if _, err := p.sim.Deposit(Deposit{AmountNano: ton, Comment: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}

	for seqno := range uint32(10) {
		message, _ := p.sign(order{seqno: seqno, ttl: time.Minute, to: p.sim.Shop(), amount: ton})
		if status, answer := p.broadcast(message); status != http.StatusOK {
			t.Errorf("%d %v", status, answer)
		}
		if err := p.sim.Steer(Steering{AdvanceMS: 10}); err != nil {
			t.Error(err)
		}
	}

	all.Wait()
	history := p.history(p.sim.Wallet(), "")
	if len(history) != 50 {
		t.Errorf("%d transactions", len(history))
	}

	for i := 1; i < len(history); i++ {
		if history[i].PrevLT != history[i-1].LT || history[i].Now < history[i-1].Now {
			t.Errorf("transaction %d does not follow", i)
		}
	}
}
