// Package simtest is what the tests of several simulators share.
package simtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/sim"
)

// Serve serves h on a free port until the test ends.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	url, stop, err := sim.Start("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// Do sends a JSON request and returns the answer. A json.RawMessage is sent as it is, valid or not.
func Do(t testing.TB, method, url string, body any) (int, []byte) {
	t.Helper()
	var in io.Reader
	if body != nil {
		data, raw := body.(json.RawMessage)
		if !raw {
			var err error
			if data, err = json.Marshal(body); err != nil {
				t.Fatal(err)
			}
		}
		in = bytes.NewReader(data)
	}

	r, err := http.NewRequestWithContext(t.Context(), method, url, in)
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("Content-Type", "application/json")
	return Answer(t, r)
}

// Answer sends a request that must get a response.
func Answer(t testing.TB, r *http.Request) (int, []byte) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, data
}

// Arm adds a fault over HTTP.
func Arm(t testing.TB, base string, fault map[string]any) {
	t.Helper()
	root := base[:strings.Index(base[len("http://"):], "/")+len("http://")]
	if status, body := Do(t, "POST", root+"/_/faults", fault); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
}
