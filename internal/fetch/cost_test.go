package fetch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// TestCost fetches the largest allowed file, of known and of unknown size: it allocates less than 32 MiB, in use or
// not. It does not run beside other tests, whose memory it would count.
func TestCost(t *testing.T) {
	const size = 10 << 20
	chunk := make([]byte, 32<<10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", "10485760")
		}
		for range size / len(chunk) {
			_, _ = w.Write(chunk)
		}
	}))
	defer site.Close()

	for _, path := range []string{"/known", "/unknown"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		content, err := New(Options{AllowPrivate: true}).Fetch(context.Background(), site.URL+path)
		runtime.ReadMemStats(&after)
		if err != nil || len(content) != size {
			t.Fatalf("%d bytes, %v", len(content), err)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 32<<20 {
			t.Errorf("%s: %d MiB", path, cost>>20)
		}
	}
}
