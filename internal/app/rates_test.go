package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
	"stagecoach/internal/toncenter"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestRatesHoldOverProcesses lets two processes with one key ask toncenter as fast as they may: together they keep to
// the rate. One with another key has its own.
func TestRatesHoldOverProcesses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = fmt.Fprintf(w, `{"last":{"seqno":5,"gen_utime":%d}}`, time.Now().Unix())
	}))

	t.Cleanup(server.Close)

	url := testdb.URL(t)
	process := func(key string) *toncenter.Client {
		s, err := store.Open(t.Context(), url, testdb.Key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return toncenter.New(toncenter.Options{
			URL: server.URL, APIKey: key, RequestsPerSecond: 2, Reserve: SharedRate(s, "toncenter", server.URL, key),
		})
	}

	one, other, stranger := process("planted"), process("planted"), process("another")

	began := time.Now()
	var all sync.WaitGroup
	for i := range 8 { // two at once, the others half a second apart
		all.Go(func() {
			if _, err := []*toncenter.Client{one, other}[i%2].Head(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	if took := time.Since(began); took < 2900*time.Millisecond {
		t.Errorf("8 requests of one key went within %s", took)
	}

	if _, err := stranger.Head(t.Context()); err != nil || asked.Load() != 9 {
		t.Errorf("%d requests: %v", asked.Load(), err)
	}
}
