package transaction

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/testdb"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// longTransfers is a gateway whose history has some transfers from strangers, who have filled each with a long message.
type longTransfers struct {
	wallet     string
	number     int
	size       int // bytes of JSON of each
	unreadable int // the transfer whose message is no cell
}

func (g longTransfers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v3/masterchainInfo":
		fmt.Fprintf(w, `{"last":{"seqno":5,"gen_utime":"%d"}}`, time.Now().Unix())
	case "/api/v3/transactions":
		first, _ := strconv.Atoi(r.URL.Query().Get("start_lt"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		var page []json.RawMessage
		for lt := max(first, 1); lt <= g.number && len(page) < limit; lt++ {
			page = append(page, g.transfer(lt))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"transactions": page})
	default:
		http.NotFound(w, r)
	}
}

func (g longTransfers) transfer(lt int) json.RawMessage {
	content := fmt.Sprintf(`{"decoded":["%s"]}`, strings.Repeat("x", g.size))
	if lt == g.unreadable {
		content = `{"body":"AAAA"}`
	}
	return json.RawMessage(fmt.Sprintf(
		`{"account":%q,"hash":%q,"lt":"%d","now":%d,"prev_trans_lt":"%d","prev_trans_hash":%q,"finality":"finalized",`+
			`"in_msg":{"hash":%q,"source":"0:%064d","destination":%q,"value":"50000000","message_content":%s}}`,
		g.wallet, hashOf(lt), lt, time.Now().Add(-time.Minute).Unix(), lt-1, hashOf(lt-1), hashOf(lt+1000), 2, g.wallet, content,
	))
}

// hashOf is a hash in base64.
func hashOf(n int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 24), uint64(n)))
}

// TestLongMessages follows a history of which no page of the usual size can be read, with a message in it that cannot be
// read at all: each transfer is recorded once, and that message is told to the administrators.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), testdb.URL(t), testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	wallet, _, err := ton.ParseAddress("0:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}

	const number = 20
	gateway := httptest.NewServer(longTransfers{wallet: wallet.Raw(), number: number, size: 2 << 20, unreadable: 7})
	t.Cleanup(gateway.Close)

	m := &Monitor{
		Store: s.Transactions, Alerts: s.Notices, Wallet: wallet,
		Chain:    toncenter.New(toncenter.Options{URL: gateway.URL, RequestsPerSecond: 1e6, CallTimeout: time.Minute}),
		Settings: Settings{WholeHistory: true, MinDeposit: 1}, Metrics: metrics.New().Transaction(),
		Log: slog.New(slog.DiscardHandler),
	}

	var environment testsuite.WorkflowTestSuite
	worker := environment.NewTestActivityEnvironment()
	worker.RegisterActivity(m.follow)
	outcome, err := worker.ExecuteActivity(m.follow)
	var unread bool
	if err == nil {
		err = outcome.Get(&unread)
	}
	if err != nil || !unread {
		t.Fatalf("unread %v, error %v", unread, err)
	}

	followed, err := s.Transactions.WalletByAddress(t.Context(), wallet.Raw())
	if err != nil || followed.CursorLT != number {
		t.Errorf("%+v %v", followed, err)
	}
	pending, err := s.Transactions.UnstartedOf(t.Context(), wallet.Raw(), 2*number)
	if err != nil || len(pending) != number-1 {
		t.Errorf("%d orders, want %d: %v", len(pending), number-1, err)
	}

	open, err := s.Notices.Incidents(t.Context(), true, 0, 10)
	if err != nil || len(open) != 1 || open[0].Kind != notice.AlertChainMessage {
		t.Errorf("%+v %v", open, err)
	}
}
