package yandexsim

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/simtest"
)

func TestDownloadFaults(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 100_000)
	get := func(t *testing.T, url, ranged string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}

		if ranged != "" {
			r.Header.Set("Range", ranged)
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
		response, body, err := get(t, url, "")
		if err == nil || body != content[:12_345] || response.ContentLength != int64(len(content)) {
			t.Fatal(len(body), err)
		}
		simtest.Eventually(t, "the log shows it", func() bool { return y.Requests()[1].Sent == 12_345 })
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
		simtest.Eventually(t, "the server sees that the client left", func() bool { return y.Requests()[1].Done })
	})

	t.Run("long_body", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "long_body", ExtraBytes: 77})
		response, body, err := get(t, url, "")
		if err != nil || len(body) != len(content)+77 || response.ContentLength != -1 {
			t.Fatal(len(body), response.ContentLength, err)
		}
	})

	t.Run("short_body", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "short_body", AfterBytes: 99})
		response, body, err := get(t, url, "")
		if err != nil || body != content[:99] || response.ContentLength != -1 {
			t.Fatal(len(body), response.ContentLength, err)
		}
	})

	t.Run("etag", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "etag", Times: 1})
		other, _, _ := get(t, url, "")
		own, _, _ := get(t, url, "")
		if other.Header.Get("ETag") == own.Header.Get("ETag") {
			t.Fatal("the same ETag")
		}
	})

	t.Run("ignore_range", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "ignore_range"})
		if response, body, _ := get(t, url, "bytes=5-9"); response.StatusCode != 200 || body != content {
			t.Fatal(response.Status, len(body))
		}
	})

	t.Run("403", func(t *testing.T) {
		_, url := setUp(t, sim.Fault{Kind: "403"})
		if response, body, _ := get(t, url, ""); response.StatusCode != 403 || strings.HasPrefix(body, "{") {
			t.Fatal(response.Status, body)
		}
	})
}

func TestYandexErrorFaults(t *testing.T) {
	t.Parallel()
	_, base := yandexTest(t, nil)
	for kind, name := range map[string]string{
		"401": "UnauthorizedError", "403": "ForbiddenError", "404": "DiskNotFoundError", "423": "DiskResourceLockedError",
		"429": "TooManyRequestsError", "500": "InternalServerError", "503": "DiskServiceUnavailableError",
		"download_limit": "DiskResourceDownloadLimitExceededError", "418": "I'mateapotError",
	} {
		simtest.Arm(t, base+"/", map[string]any{"kind": kind, "times": 1, "retry_after": 9})
		r, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/v1/disk/resources?path=/", nil)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}

		var reply map[string]string
		err = json.NewDecoder(response.Body).Decode(&reply)
		_ = response.Body.Close()
		if err != nil || reply["error"] != name || reply["description"] == "" || reply["message"] == "" ||
			response.Header.Get("Retry-After") != "9" {
			t.Errorf("%s: %d %v %v", kind, response.StatusCode, reply, err)
		}
	}
}
