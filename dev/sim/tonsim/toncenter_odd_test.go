package tonsim

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
		{Deposit{AmountNano: ton, Comment: "durov 100", Kind: "two_cells"}, "0x00000000", "durov 100"},
		{Deposit{AmountNano: ton, Comment: "durov", Undecoded: true}, "0x00000000", "-"},
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

	for _, bad := range []Deposit{{Kind: "gift"}, {AmountNano: -1}, {From: "0:xyz"}, {From: strings.Repeat("E", 48)}, {Kind: "two_cells", Comment: strings.Repeat("x", 300)}} {
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

// A payment that is sent back to its payer arrives there.
func TestChainRefund(t *testing.T) {
	t.Parallel()
	p := chainTest(t, nil)
	p.deposit(Deposit{From: "alice", AmountNano: 2 * ton, Comment: "x"})
	sender := *p.history(p.sim.Wallet(), "")[0].InMsg.Source
	message, _ := p.sign(order{ttl: time.Minute, to: sender, amount: 2*ton - ton/100, body: comment(t, "refund")})
	if status, answer := p.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if got := p.balance(sender); got != 2*ton-ton/100 {
		t.Errorf("alice has %d", got)
	}
}

func TestChainPages(t *testing.T) {
	t.Parallel()
	p := chainTest(t, nil)
	var want []string
	for i := range 25 {
		want = append(want, p.deposit(Deposit{AmountNano: int64(i), Comment: "x"}))
	}

	all := p.history(p.sim.Wallet(), "")
	lt := func(i int) string { return strconv.FormatUint(all[i].LT, 10) }
	for _, c := range []struct {
		query       string
		first, last int // of want
	}{
		{"", 0, 24},
		{"&limit=10", 0, 9},
		{"&limit=10&offset=20", 20, 24},
		{"&start_lt=" + lt(5), 5, 24},
		{"&start_lt=" + lt(5) + "&end_lt=" + lt(7), 5, 7},
		{"&start_lt=" + lt(24), 24, 24},
		{"&hash=" + want[3], 3, 3},
		{"&lt=" + lt(9), 9, 9},
		{"&hash=" + url.QueryEscape(base64.StdEncoding.EncodeToString(all[4].Hash[:])), 4, 4},
		{"&hash=" + base64.RawURLEncoding.EncodeToString(all[4].Hash[:]), 4, 4},
		{"&start_utime=1&end_utime=4000000000", 0, 24},
		{"&offset=25", 0, -1},
		{"&end_utime=1", 0, -1},
	} {
		query := c.query
		if !strings.Contains(query, "limit=") {
			query += "&limit=100"
		}

		_, data := simtest.Do(t, "GET", p.url+"/api/v3/transactions?sort=asc&account="+p.sim.Wallet()+query, nil)
		var got []string
		for _, tx := range p.decode(data) {
			got = append(got, hex.EncodeToString(tx.Hash[:]))
		}

		if strings.Join(got, " ") != strings.Join(want[c.first:c.last+1], " ") {
			t.Errorf("%s: %d transactions, want %d", c.query, len(got), c.last+1-c.first)
		}
	}

	_, data := simtest.Do(t, "GET", p.url+"/api/v3/transactions?account="+p.sim.Wallet(), nil) // the newest ten
	if got := p.decode(data); len(got) != 10 || got[0].Hash != all[24].Hash || got[9].Hash != all[15].Hash {
		t.Errorf("%d of them", len(got))
	}

	for _, query := range []string{
		"limit=0", "limit=1001", "limit=x", "offset=-1", "sort=up", "start_lt=x", "end_lt=-5", "hash=xyz", "account=me",
		"account=0:1",
	} {
		if status, answer := p.call("GET", "transactions?"+query, nil); status != http.StatusUnprocessableEntity || answer["error"] == "" {
			t.Errorf("%s: %d %v", query, status, answer)
		}
	}

	for _, path := range []string{"transactionsByMessage?msg_hash=x", "transactionsByMessage?msg_hash=" + want[0] + "&direction=up", "walletInformation?address=x", "walletInformation"} {
		if status, answer := p.call("GET", path, nil); status != http.StatusUnprocessableEntity || answer["error"] == "" {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}

	if status, _ := p.call("GET", "traces", nil); status != http.StatusNotFound {
		t.Errorf("an unknown method: %d", status)
	}
}

// fakeClock is a clock that only moves when a test advances it.
func fakeClock(o *TonCenterOptions) {
	start := time.Unix(1_800_000_000, 0)
	o.Clock = func() time.Time { return start }
}

func (p *payer) steer(s map[string]any) map[string]any {
	p.test.Helper()
	status, data := simtest.Do(p.test, "POST", p.url+"/_/chain", s)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil || status != http.StatusOK {
		p.test.Fatalf("%d %s", status, data)
	}
	return answer
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
	// Another order with the same seqno is valid as long as the first is in no block; then it is dropped.
	if status, answer := p.broadcast(rival); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if n := len(p.history(p.sim.Wallet(), "")); n != 0 {
		t.Errorf("%d transactions before the block", n)
	}

	p.steer(map[string]any{"advance_ms": 5000})
	if all := p.history(p.sim.Wallet(), ""); len(all) != 1 || *all[0].OutMsgs[0].Value != "1000000000" || len(p.history(p.sim.Shop(), "")) != 0 {
		t.Errorf("%+v", all)
	}

	state := p.steer(map[string]any{"advance_ms": 5000})
	if got := p.history(p.sim.Shop(), ""); len(got) != 1 || state["queued"] != 0.0 {
		t.Errorf("the next block: %+v, %v", got, state)
	}
	if status, answer := p.broadcast(rival); status != http.StatusInternalServerError || !strings.Contains(answer["error"].(string), "exitcode=133") {
		t.Errorf("%d %v", status, answer)
	}
}

func TestChainDropAndDelay(t *testing.T) {
	t.Parallel()
	p := chainTest(t, fakeClock)
	ttl := time.Until(p.sim.options.Clock()) + time.Minute
	message, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	p.steer(map[string]any{"drop": 1})
	if status, answer := p.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if n := len(p.history(p.sim.Wallet(), "")); n != 0 {
		t.Errorf("a dropped order was carried out")
	}

	p.steer(map[string]any{"delay_ms": 20_000})
	if status, answer := p.broadcast(message); status != http.StatusOK { // as often as it is sent
		t.Fatalf("%d %v", status, answer)
	}

	p.steer(map[string]any{"advance_ms": 19_000})
	if n := len(p.history(p.sim.Wallet(), "")); n != 0 {
		t.Errorf("it was included too early")
	}

	p.steer(map[string]any{"advance_ms": 1_000})
	if n := len(p.history(p.sim.Wallet(), "")); n != 1 {
		t.Errorf("it was not included")
	}

	late, _ := p.sign(order{seqno: 1, ttl: ttl + 20*time.Second, to: p.sim.Shop(), amount: ton})
	p.steer(map[string]any{"delay_ms": 120_000})
	if status, answer := p.broadcast(late); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	p.steer(map[string]any{"advance_ms": 600_000})
	if n := len(p.history(p.sim.Wallet(), "")); n != 1 {
		t.Errorf("an order was included when it was dead")
	}

	for _, bad := range []map[string]any{{"advance_ms": -1}, {"drop": -1}, {"block_time_ms": -5}, {"speed": 2}} {
		if status, data := simtest.Do(t, "POST", p.url+"/_/chain", bad); status != http.StatusBadRequest {
			t.Errorf("%v: %d %s", bad, status, data)
		}
	}
}

// A transaction that toncenter omits shows as a gap between its neighbours.
func TestChainHide(t *testing.T) {
	t.Parallel()
	p := chainTest(t, nil)
	p.deposit(Deposit{AmountNano: 1})
	p.steer(map[string]any{"hide": 1})
	p.deposit(Deposit{AmountNano: 2})
	p.deposit(Deposit{AmountNano: 3})
	all := p.history(p.sim.Wallet(), "")
	if len(all) != 2 || all[1].PrevLT == all[0].LT {
		t.Errorf("%+v", all)
	}

	p.steer(map[string]any{"reveal": true})
	if all := p.history(p.sim.Wallet(), ""); len(all) != 3 || all[2].PrevLT != all[1].LT {
		t.Errorf("%+v", all)
	}
}

func TestChainBalance(t *testing.T) {
	t.Parallel()
	p := chainTest(t, func(o *TonCenterOptions) { o.Balance = -1 })
	if got := p.balance(p.sim.Wallet()); got != 0 {
		t.Errorf("balance %d", got)
	}

	message, _ := p.sign(order{ttl: time.Minute, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(message); status != http.StatusInternalServerError || strings.Contains(answer["error"].(string), "exitcode") {
		t.Errorf("without money for its own way in: %d %v", status, answer)
	}
	if status, data := simtest.Do(t, "POST", p.url+"/_/accounts", map[string]any{"balance_nano": 5 * ton}); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, data)
	}
	if status, answer := p.broadcast(message); status != http.StatusOK {
		t.Errorf("%d %v", status, answer)
	}

	for _, bad := range []map[string]any{{"address": "x"}, {"balance_nano": -1}} {
		if status, data := simtest.Do(t, "POST", p.url+"/_/accounts", bad); status != http.StatusBadRequest {
			t.Errorf("%v: %d %s", bad, status, data)
		}
	}
}

func TestChainSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := chainTest(t, func(o *TonCenterOptions) { fakeClock(o); o.Dir = dir })
	ttl := time.Until(p.sim.options.Clock()) + time.Hour
	p.deposit(Deposit{AmountNano: 3 * ton, Comment: "durov"})
	p.deposit(Deposit{AmountNano: ton, Comment: "durov", Undecoded: true})
	paid, _ := p.sign(order{ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(paid); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	p.steer(map[string]any{"advance_ms": 60_000, "delay_ms": 30_000, "hide": 1})
	waiting, _ := p.sign(order{seqno: 1, ttl: ttl, to: p.sim.Shop(), amount: ton})
	if status, answer := p.broadcast(waiting); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	_, before := simtest.Do(t, "GET", p.url+"/api/v3/transactions?limit=100&account="+p.sim.Wallet(), nil)
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
	_, after := simtest.Do(t, "GET", again.url+"/api/v3/transactions?limit=100&account="+again.sim.Wallet(), nil)
	_, chainAfter := simtest.Do(t, "GET", again.url+"/_/chain", nil)
	if string(before) != string(after) || string(chainBefore) != string(chainAfter) {
		t.Errorf("before:\n%s%s\nafter:\n%s%s", before, chainBefore, after, chainAfter)
	}

	again.steer(map[string]any{"advance_ms": 30_000, "reveal": true})
	if all := again.history(again.sim.Wallet(), ""); len(all) != 4 || all[3].PrevLT != all[2].LT {
		t.Errorf("what was on its way did not arrive: %+v", all)
	}
	if status, answer := again.broadcast(waiting); status != http.StatusInternalServerError {
		t.Errorf("it can be paid twice: %d %v", status, answer)
	}
}

func TestTonCenterKeysAndFaults(t *testing.T) {
	t.Parallel()
	p := chainTest(t, func(o *TonCenterOptions) { o.APIKey, o.RequestsPerSecond = "right", 1 })
	get := func(key string) (int, map[string]any) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", p.url+"/api/v3/masterchainInfo", nil)
		if err != nil {
			t.Fatal(err)
		}

		r.Header.Set("X-API-Key", key)
		status, data := simtest.Answer(t, r)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Fatalf("%d %s", status, data)
		}

		return status, body
	}

	for range 5 {
		if status, body := get("right"); status != http.StatusOK || body["last"] == nil {
			t.Errorf("%d %v", status, body)
		}
	}

	if status, body := get("wrong"); status != http.StatusUnauthorized {
		t.Errorf("%d %v", status, body)
	}

	limited := false
	for range 5 {
		status, body := get("")
		limited = limited || status == http.StatusTooManyRequests && fmt.Sprint(body) == "map[code:429 ok:false result:Ratelimit exceed]"
	}

	if !limited {
		t.Error("no limit without a key")
	}

	q := chainTest(t, nil)
	message, _ := q.sign(order{ttl: time.Minute, to: q.sim.Shop(), amount: ton})
	for _, c := range []struct {
		fault map[string]any
		want  string
		paid  bool
	}{
		{map[string]any{"kind": "exit_133"}, "exitcode=133", false},
		{map[string]any{"kind": "exit_136"}, "exitcode=136", false},
		{map[string]any{"kind": "duplicate"}, "duplicate message", false},
		{map[string]any{"kind": "503"}, "Service Unavailable", false},
		{map[string]any{"kind": "429"}, "", false},
		{map[string]any{"kind": "exit_133", "applied": true}, "exitcode=133", true},
	} {
		c.fault["match"], c.fault["times"] = "POST /api/v3/message", 1
		simtest.Arm(t, q.url+"/", c.fault)
		status, answer := q.broadcast(message)
		text, _ := answer["error"].(string)
		if status < 400 || !strings.Contains(text, c.want) || len(q.history(q.sim.Wallet(), "")) > 0 != c.paid {
			t.Errorf("%v: %d %v", c.fault, status, answer)
		}
	}
}

func TestTonCenterOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []TonCenterOptions{{}, {PublicKey: "xyz"}, {PublicKey: "abcd"}} {
		if _, err := NewTonCenter(o); err == nil {
			t.Errorf("%+v passes", o)
		}
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
