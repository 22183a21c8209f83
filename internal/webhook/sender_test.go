package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
)

// TestSign signs the example of the specification of Standard Webhooks.
func TestSign(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	at := time.Unix(1614265330, 0)
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	if err := sign(header, secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`)); err != nil {
		t.Fatal(err)
	}

	const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := header.Get("webhook-signature"); got != signature+" "+signature {
		t.Errorf("signed %q", got)
	}
	if header.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || header.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("headers %v", header)
	}

	if one, other := NewSecret(), NewSecret(); one == other || sign(header, []string{one, other}, "id", at, nil) != nil {
		t.Errorf("secrets %q and %q", one, other)
	}

	for _, wrong := range []string{"", "whsec_ä", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if err := sign(header, []string{wrong}, "id", at, nil); !errors.Is(err, errSecret) {
			t.Errorf("%q signs: %v", wrong, err)
		}
	}
}

// TestSend sends to a receiver that answers in every way.
func TestSend(t *testing.T) {
	t.Parallel()
	asked := make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		switch r.URL.Path {
		case "/silent":
			_, _ = io.Copy(io.Discard, r.Body) // or nobody notices that the client has left
			<-r.Context().Done()
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/later":
			w.Header().Set("Retry-After", "999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/no":
			w.WriteHeader(http.StatusBadRequest)
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))

	t.Cleanup(server.Close)

	s := NewSender(Options{Timeout: time.Minute, AllowPrivate: true})
	hurried := NewSender(Options{Timeout: 2 * time.Second, AllowPrivate: true})
	send := func(address string) error {
		s := s
		if strings.Contains(address, "/silent") {
			s = hurried
		}
		return s.Send(t.Context(), address, []string{NewSecret()}, Message{ID: "msg_1", Body: []byte(`{}`)})
	}

	for path, want := range map[string]struct {
		code  fault.Code
		after time.Duration
	}{
		"/ok": {}, "/endless": {}, "/silent": {code: fault.WebhookTimeout}, "/moved": {code: fault.WebhookRefused}, "/no": {code: fault.WebhookRefused},
		"/busy": {fault.WebhookRefused, 7 * time.Second}, "/later": {fault.WebhookRefused, time.Hour}, "/cut": {code: fault.WebhookUnreachable}, "/gone": {code: fault.WebhookGone},
	} {
		err := send(server.URL + path + "?key=hidden")
		got := fault.As(err)
		switch {
		case want.code == "" && err != nil, want.code != "" && got == nil:
			t.Errorf("%s: %v", path, err)
		case got == nil:
		case got.Code != want.code || got.Retryable != (want.code != fault.WebhookGone) || got.RetryAfter != want.after:
			t.Errorf("%s: %+v", path, got)
		case strings.Contains(got.Error(), "hidden") || got.Cause != nil:
			t.Errorf("%s: %v has the address", path, got)
		}
	}

	server.Close() // no handler sends after this
	close(asked)
	var paths []string
	for r := range asked {
		paths = append(paths, r.URL.Path)
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("User-Agent") != "stagecoach" || len(r.Cookies()) > 0 {
			t.Errorf("%s has the headers %v", r.URL.Path, r.Header)
		}
	}

	if slices.Index(paths, "/ok") != len(paths)-1-slices.Index(reversed(paths), "/ok") {
		t.Errorf("a redirect was followed: %v", paths)
	}

	if code := fault.CodeOf(send("http://127.0.0.1:1/")); code != fault.WebhookUnreachable {
		t.Errorf("nobody listens: %s", code)
	}
	// No resolver is asked for a name with an empty label: one that does not answer would be a time-out.
	if code := fault.CodeOf(send("http://no-such..host/")); code != fault.WebhookUnreachable {
		t.Errorf("no such name: %s", code)
	}

	left, leave := context.WithCancel(t.Context())
	leave()
	if err := s.Send(left, server.URL, nil, Message{}); !errors.Is(err, context.Canceled) || fault.As(err) != nil {
		t.Errorf("the caller left: %v", err)
	}
}

func reversed(all []string) []string {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

// TestSendsToTheInternetOnly sends to names and addresses of this machine, without and with TLS: no request arrives.
func TestSendsToTheInternetOnly(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)

	message := Message{ID: "msg_1"}
	inside := NewSender(Options{Timeout: 5 * time.Second})
	for _, server := range []string{plain.URL, secure.URL} {
		for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
			err := inside.Send(t.Context(), strings.Replace(server, "127.0.0.1", host, 1), nil, message)
			if fault.CodeOf(err) != fault.WebhookForbidden {
				t.Errorf("%s: %v", host, err)
			}
		}
	}

	trusting := NewSender(Options{AllowPrivate: true})
	if err := trusting.Send(t.Context(), secure.URL, nil, message); fault.CodeOf(err) != fault.WebhookUnreachable {
		t.Errorf("a certificate of nobody is trusted: %v", err)
	}
}

// TestNoProxy has a proxy in the environment, which would connect without checking the address.
func TestNoProxy(t *testing.T) {
	proxy := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }),
	)

	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(
			io.Discard, r.Body,
		)
	}))

	t.Cleanup(server.Close)
	// no proxy is used for addresses of this machine
	address := strings.Replace(server.URL, "127.0.0.1", "name.invalid", 1)
	if err := NewSender(Options{Timeout: 5 * time.Second, AllowPrivate: true}).Send(t.Context(), address, nil, Message{ID: "1"}); fault.CodeOf(err) != fault.WebhookUnreachable {
		t.Errorf("%v", err)
	}
}
