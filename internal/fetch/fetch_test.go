package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stagecoach/internal/fault"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "172.15.0.1": true, "172.32.0.1": true, "100.63.0.1": true, "198.20.0.1": true,
		"127.0.0.1": false, "127.255.0.9": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.127.255.255": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "239.1.1.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.7": false, "203.0.113.7": false, "192.88.99.1": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fdff::1": false, "ff02::1": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": true, "::127.0.0.1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "3fff::1": false, "100::1": false, "2606:4700::1%eth0": false,
		"168.63.129.15": true, "168.63.129.16": false, "168.63.129.17": true, "100.100.100.200": false, "192.0.0.192": false,
		"192.31.196.1": false, "192.52.193.1": false, "192.175.48.1": false, "2620:4f:8000::1": false, "2620:4f:8001::1": true,
		"fd00:ec2::254": false, "64:ff9b:1::a9fe:a9fe": false, "2002:a9fe:a9fe::": false,
		"2a00:1450::5efe:a9fe:a9fe": false, "2a00:1450::200:5efe:a9fe:a9fe": false, "2a00:1450::100:5efe:a9fe:a9fe": true,
		"2a00:1450::5efd:a9fe:a9fe": true, "2a00:1450:0:5efe:a9fe:a9fe::": true, "94.254.169.254": true,
	} {
		if got := Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}

	if Public(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}

// source is a server that counts its requests.
func source(t *testing.T, handle http.HandlerFunc) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// TestNoPrivateAddress requests files from this machine by every name it has: nothing reaches it.
func TestNoPrivateAddress(t *testing.T) {
	t.Parallel()
	address, asked := source(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}

	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1.2.3", "169.254.169.254", "10.0.0.1"} {
		_, err := New(Options{Timeout: time.Minute}).Fetch(t.Context(), "http://"+host+":"+port+"/?key=secret")
		if f := fault.As(err); f == nil || f.Code != fault.SourceForbidden || f.Retryable {
			t.Errorf("%s: %v", host, err)
		}
	}

	if asked.Load() > 0 {
		t.Errorf("%d requests", asked.Load())
	}
}

// TestRedirects follows redirects, but never to a forbidden address. In this test 127.0.0.1 is the Internet.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var there string
	address, asked := source(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" {
			t.Errorf("the address before was told: %s", r.Header.Get("Referer"))
		}

		switch r.URL.Path {
		case "/once":
			http.Redirect(w, r, "/file", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, there+"/file", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/mail":
			w.Header().Set("Location", "mailto:somebody@example.org")
			w.WriteHeader(http.StatusFound)
		default:
			fmt.Fprint(w, "content")
		}
	})

	there = strings.Replace(address, "127.0.0.1", "127.0.0.2", 1)
	f := newFetcher(
		Options{Timeout: time.Minute}, func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") },
	)
	if got, err := f.Fetch(t.Context(), address+"/once?key=secret"); err != nil || string(got) != "content" {
		t.Errorf("once: %q, %v", got, err)
	}

	for path, want := range map[string]fault.Code{"/inside": fault.SourceForbidden, "/loop": fault.SourceRefused, "/mail": fault.SourceRefused} {
		_, err := f.Fetch(t.Context(), address+path+"?key=secret")
		if fault.CodeOf(err) != want || told(err, "secret") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}

	if asked.Load() > 2+1+maxRedirects+1+1 {
		t.Errorf("%d requests", asked.Load())
	}
}

// TestRedirectLimit follows as many redirects as the limit, and not one more. The log names the limit.
func TestRedirectLimit(t *testing.T) {
	t.Parallel()
	address, _ := source(t, func(w http.ResponseWriter, r *http.Request) {
		left, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			t.Error(err)
		}
		if left > 0 {
			http.Redirect(w, r, fmt.Sprint("/", left-1), http.StatusFound)
		}
	})

	f := New(Options{Timeout: time.Minute, AllowPrivate: true})

	if _, err := f.Fetch(t.Context(), fmt.Sprint(address, "/", maxRedirects)); err != nil {
		t.Errorf("%d redirects: %v", maxRedirects, err)
	}

	_, err := f.Fetch(t.Context(), fmt.Sprint(address, "/", maxRedirects+1))
	if got := fault.As(err); got == nil || got.Code != fault.SourceRefused || !errors.Is(got.Cause, errRedirects) {
		t.Errorf("%d redirects: %+v", maxRedirects+1, got)
	}
}

// TestHarmless keeps of an error what cannot contain an address: the system's own errors, and constant texts.
func TestHarmless(t *testing.T) {
	t.Parallel()
	around := func(err error) error {
		return &url.Error{Op: "Get", URL: "http://secret/", Err: &net.OpError{Op: "dial", Err: err}}
	}

	for _, c := range []struct {
		err  error
		want string
	}{
		{around(os.NewSyscallError("connect", syscall.ECONNREFUSED)), syscall.ECONNREFUSED.Error()},
		{around(ErrForbidden), ErrForbidden.Error()},
		{around(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF.Error()},
		{around(errors.New("secret")), "a *errors.errorString"},
		{around(&net.DNSError{Err: "no such host", Name: "secret"}), "the name cannot be looked up"},
		{io.EOF, io.EOF.Error()},
		{errors.New("secret"), "a *errors.errorString"},
	} {
		if got := harmless(c.err); got.Error() != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func told(err error, secret string) bool {
	f := fault.As(err)
	return f != nil && (strings.Contains(f.Error(), secret) || f.Cause != nil && strings.Contains(f.Cause.Error(), secret))
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	address, _ := source(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			w.Header().Set("Content-Length", "101")
			_, _ = w.Write(make([]byte, 101))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		case "/full":
			_, _ = w.Write(make([]byte, 100))
		case "/cut":
			w.Header().Set("Content-Length", "90")
			_, _ = w.Write(make([]byte, 10))
		case "/silent":
			<-r.Context().Done()
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/later":
			w.Header().Set("Retry-After", "999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/never":
			w.Header().Set("Retry-After", "9223372037") // overflows in nanoseconds
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/nowhere":
			w.Header().Set("Location", "http://[secret/")
			w.WriteHeader(http.StatusFound)
		case "/no":
			w.WriteHeader(http.StatusNotFound)
		case "/long no":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(make([]byte, 101))
		case "/slow":
			w.WriteHeader(http.StatusRequestTimeout)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/closed":
			w.WriteHeader(499)
		}
	})

	f := New(Options{MaxSize: 100, Timeout: time.Minute, AllowPrivate: true})
	for path, want := range map[string]struct {
		code  fault.Code
		retry bool
		after time.Duration
	}{
		"/big": {code: fault.SourceNotTorrent}, "/endless": {code: fault.SourceNotTorrent}, "/full": {}, "/cut": {code: fault.SourceUnavailable, retry: true},
		"/busy": {fault.SourceUnavailable, true, 7 * time.Second}, "/later": {fault.SourceUnavailable, true, 10 * time.Minute},
		"/never": {fault.SourceUnavailable, true, 10 * time.Minute}, "/nowhere": {code: fault.SourceUnavailable, retry: true}, "/no": {code: fault.SourceRefused},
		"/long%20no": {code: fault.SourceRefused}, "/closed": {code: fault.SourceRefused},
		"/slow": {code: fault.SourceUnavailable, retry: true}, "/broken": {code: fault.SourceUnavailable, retry: true},
	} {
		content, err := f.Fetch(t.Context(), address+path)
		if want.code == "" {
			if err != nil || len(content) != 100 {
				t.Errorf("%s: %d bytes, %v", path, len(content), err)
			}
			continue
		}

		got := fault.As(err)
		if told(err, "secret") {
			t.Errorf("%s: %v tells of the address", path, err)
		}
		if got == nil || got.Code != want.code || got.Retryable != want.retry || got.RetryAfter != want.after {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}

	_, err := New(Options{Timeout: 100 * time.Millisecond, AllowPrivate: true}).Fetch(
		t.Context(), address+"/silent?key=secret",
	)
	if f := fault.As(err); f == nil || f.Code != fault.SourceUnavailable || !f.Retryable || told(err, "secret") {
		t.Errorf("silence: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := f.Fetch(ctx, address+"/silent"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := f.Fetch(t.Context(), "http://127.0.0.1:1/?key=secret"); fault.CodeOf(err) != fault.SourceUnavailable || told(err, "secret") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestForeignCertificate uses another name than the certificate's: neither name is revealed.
func TestForeignCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	f := New(Options{Timeout: time.Minute, AllowPrivate: true})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	f.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	_, err := f.Fetch(t.Context(), strings.Replace(server.URL, "127.0.0.1", "localhost", 1)+"/?key=secret")
	if fault.CodeOf(err) != fault.SourceUnavailable || told(err, "secret") || told(err, "localhost") || told(err, "example.com") {
		t.Errorf("%v", fault.As(err))
	}
}
