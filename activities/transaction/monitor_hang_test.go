package transaction

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// TestHungMonitor lets the wallet's monitor wait for an answer that never comes.
func TestHungMonitor(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), testdb.URL(t), testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	h := testtemporal.NewHang()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = h.Call(r.Context())
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(gateway.Close)

	wallet, _, err := ton.ParseAddress("0:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}

	m := &Monitor{
		Store: s.Transactions, Alerts: s.Notices, Wallet: wallet,
		Chain:    toncenter.New(toncenter.Options{URL: gateway.URL, CallTimeout: time.Hour}),
		Settings: Settings{PollInterval: 100 * time.Millisecond, WholeHistory: true},
		Metrics:  metrics.New().Transaction(),
		Log:      slog.New(slog.DiscardHandler),
	}
	h.WantTakeover(t, func(ctx context.Context) error { return m.WatchWallet(ctx, wallet.Raw()) })
}
