package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func problemJSON(status int, code string) string {
	return fmt.Sprintf(`%d {"type":"/docs#%s","title":"A title","status":%d,"detail":"what is wrong","code":"%s","details":{},"errors":[{"field":"file_id","message":"is wrong"}]}`,
		status, code, status, code)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		code   string
		next   string
	}{
		{422, "FILE_TOO_BIG", "next: choose another file"},
		{404, "DELIVERY_NOT_FOUND", "next: look which there are"},
		{403, "INSUFFICIENT_ACCESS", "next: ask whose it is"},
		{401, "UNAUTHENTICATED", "next: give a valid token"},
		{409, "INVALID_TRANSITION", "next: look at its state"},
		{503, "STORE_UNAVAILABLE", "next: try again in a moment"},
	}

	for _, test := range tests {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t, map[string][]string{"GET /v1/deliveries/7": {problemJSON(test.status, test.code)}})
			code, out, errs := api.starter(t, "deliver", "show", "7", "--json")
			if code != 1 || out != "" {
				t.Errorf("exit code %d, output %q", code, out)
			}

			for _, want := range []string{test.code + ": what is wrong", "field: file_id: is wrong", test.next} {
				if !strings.Contains(errs, want) {
					t.Errorf("%q is not in %q", want, errs)
				}
			}
		})
	}
}

func TestEndsThatAreNotDelivered(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{
		"POST /v1/deliveries":  {`201 ` + job("QUEUED", "null")},
		"GET /v1/deliveries/7": {problemJSON(503, "STORE_UNAVAILABLE"), `200 ` + job("FAILED", `"TELEGRAM_FORBIDDEN"`)},
	})
	code, out, errs := api.starter(t, "deliver", "42", "--json")
	if code != 1 || !strings.Contains(out, `"state":"FAILED"`) || !strings.Contains(errs, "delivery 7 ended FAILED: TELEGRAM_FORBIDDEN") {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"bogus", "completion bogus", "completion bash x", "deliver", "deliver a b", "deliver 1 --bogus",
		"deliver 1 --wait --no-wait", "deliver show", "files a b", "status x",
		"user bogus", "user add", "user role 3", "user approve", "migrate", "migrate x",
		"files --api nonsense", "deliver list --limit many",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			if !strings.Contains(line, "--api") && !strings.HasPrefix(line, "migrate") && !strings.HasPrefix(line, "completion") && line != "bogus" {
				args = append(args, "--api", "http://127.0.0.1:1", "--token", "secret")
			}
			code, out, errs := starter(t, args...)
			if code != 2 || out != "" || !strings.Contains(errs, "--help") {
				t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, args := range [][]string{
		{"status", "--api", gone.URL, "--token", "secret"},
		{"deliver", "/a", "--api", gone.URL, "--token", "secret"},
		{"status", "--state", t.TempDir()},
	} {
		code, out, errs := starter(t, args...)
		if code != 3 || out != "" || !strings.Contains(errs, "go run ./dev") || strings.Contains(errs, "secret") {
			t.Errorf("%v: exit code %d, output %q, errors %q", args, code, out, errs)
		}
	}
}

func TestNotThisAPI(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/7") {
			http.Error(w, "<h1>no</h1>", http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte("<h1>hello</h1>"))
	}))

	t.Cleanup(stranger.Close)
	for args, want := range map[string]string{"deliver show 7": "HTTP_502", "deliver list": "is the address right"} {
		code, _, errs := starter(t, append(strings.Fields(args), "--api", stranger.URL, "--token", "x")...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, errors %q", args, code, errs)
		}
	}
}

func TestStrangersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	nasty := strings.ReplaceAll(fileJSON, `"a b.pdf"`, `"\u001b[2Jevil\nsecond line\u202e"`)
	api := newFakeAPI(t, map[string][]string{"GET /v1/files?limit=50&path=%2F": {`200 ` + list(nasty)}})
	code, out, _ := api.starter(t, "files")
	if code != 0 || strings.ContainsAny(out, "\x1b\u202e") || strings.Count(out, "\n") != 2 {
		t.Errorf("exit code %d, output %q", code, out)
	}
}
