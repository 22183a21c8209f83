package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"stagecoach/dev/wait"
)

// collector receives traces over OTLP.
type collector struct {
	mu     sync.Mutex
	traces map[string][]string // names of the spans, by trace
	whole  bytes.Buffer        // everything that was received, unparsed
}

// collectTraces makes services started from now on send their traces.
func (s *rig) collectTraces() *collector {
	s.Helper()
	c := &collector{traces: map[string][]string{}}
	server := httptest.NewServer(c)
	s.Cleanup(server.Close)
	s.env["OTEL_EXPORTER_OTLP_ENDPOINT"], s.env["OTEL_BSP_SCHEDULE_DELAY"] = server.URL, "100"
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var told tracepb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &told) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.whole.Write(body)
	for _, resource := range told.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				id := hex.EncodeToString(span.TraceId)
				c.traces[id] = append(c.traces[id], span.Name)
			}
		}
	}

	w.Header().Set("Content-Type", "application/x-protobuf")
}

// wantTrace fails the test unless one trace has all these spans, and no trace contains a secret.
func (s *rig) wantTrace(c *collector, spans, secrets []string) {
	s.Helper()
	wait.Eventually(s, fmt.Sprintf("one trace has all of %q", spans), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, names := range c.traces {
			if !slices.ContainsFunc(spans, func(span string) bool { return !slices.Contains(names, span) }) {
				return true
			}
		}
		return false
	})

	c.mu.Lock()
	defer c.mu.Unlock()

	for _, secret := range secrets {
		if strings.Contains(c.whole.String(), secret) {
			s.Errorf("the traces tell %q", secret)
		}
	}

	for _, names := range c.traces {
		for _, name := range names {
			if strings.Contains(name, "Reconcile") {
				s.Errorf("what nobody asked for has a trace: %q", names)
			}
		}
	}
}
