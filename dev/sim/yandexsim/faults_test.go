package yandexsim

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
)

func TestDownloadFaults(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 100_000)
	get := func(t *testing.T, url string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}

		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()

		body, err := io.ReadAll(response.Body)
		return response, string(body), err
	}

	setUp := func(t *testing.T, fault sim.Fault) (*Server, string) {
		t.Parallel()
		y, base := yandexTest(t, nil)
		put(t, y, "a.bin", content)
		fault.Match = "GET /download/"
		y.AddFault(fault)
		return y, downloadLink(t, base, "a.bin")
	}

	t.Run("cut", func(t *testing.T) {
		y, url := setUp(t, sim.Fault{Kind: "cut", AfterBytes: 12_345})
		response, body, err := get(t, url)
		if err == nil || body != content[:12_345] || response.ContentLength != int64(len(content)) {
			t.Fatal(len(body), err)
		}
		wait.Eventually(t, "the log shows it", func() bool { return y.Requests()[1].Done })
	})

	t.Run("stall", func(t *testing.T) {
		y, url := setUp(t, sim.Fault{Kind: "stall", AfterBytes: 10})
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}

		first := make([]byte, 10)
		if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != content[:10] {
			t.Fatal(string(first), err)
		}

		_ = response.Body.Close()
		wait.Eventually(t, "the server sees that the client left", func() bool { return y.Requests()[1].Done })
	})

	t.Run("long_body", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "long_body"})
		response, body, err := get(t, url)
		if err != nil || len(body) <= len(content) || response.ContentLength != -1 {
			t.Fatal(len(body), response.ContentLength, err)
		}
	})

	t.Run("short_body", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "short_body", AfterBytes: 99})
		response, body, err := get(t, url)
		if err != nil || body != content[:99] || response.ContentLength != -1 {
			t.Fatal(len(body), response.ContentLength, err)
		}
	})
}
