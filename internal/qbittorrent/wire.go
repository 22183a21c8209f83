package qbittorrent

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagecoach/internal/outbound"
)

// wire is the transport below the library. It turns answers that the library misreads into errors.
type wire struct {
	outbound.Observer
	next      http.RoundTripper
	login     *login
	hasKey    bool         // requests have an API key, and there are no sessions
	forgotten atomic.Int64 // answers that showed that the session was forgotten
}

// RoundTrip implements http.RoundTripper. Every refusal is an error with its status, because the library loses some of
// them. A forgotten session (403) is passed on, because the library logs in again.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	defer w.Took(r.Context(), path.Base(r.URL.Path), time.Now())
	if strings.HasSuffix(r.URL.Path, "/auth/login") {
		return w.login.try(r, w.next)
	}

	send := w.next.RoundTrip
	if w.hasKey {
		send = func(r *http.Request) (*http.Response, error) { return w.login.withKey(r, w.next) }
	}

	response, err := send(r)
	if err != nil {
		return nil, err
	}

	response = outbound.Bounded(response, maxAnswer)
	if strings.HasSuffix(r.URL.Path, "/torrents/add") && response.StatusCode == http.StatusOK {
		text, err := readShort(response)
		if err == nil && strings.TrimSpace(text) == refused { // by a version before 5.2
			err = statusError(http.StatusConflict)
		}
		if err != nil {
			return nil, err
		}
		return response, nil
	}
	if response.StatusCode == http.StatusForbidden {
		w.forgotten.Add(1)
		w.login.forget(r)
		return response, nil
	}

	if response.StatusCode >= 400 {
		_ = response.Body.Close() // the status is sufficient
		return nil, statusError(response.StatusCode)
	}
	return response, nil
}

// refused is the body of qBittorrent's refusals.
const refused = "Fails."

const (
	shortAnswer = 1 << 20  // bytes; more than any answer that is read here
	maxAnswer   = 64 << 20 // bytes of any answer; a list of 10,000 torrents takes 13 MB
)

// readShort reads a small body and leaves it readable again.
func readShort(response *http.Response) (string, error) {
	text, err := outbound.ReadAnswer(response.Body, shortAnswer)
	_ = response.Body.Close() // everything that matters has been read
	response.Body = io.NopCloser(bytes.NewReader(text))
	return string(text), err
}

// login lets one caller at a time log in, and shares its session with the others, because each new session counts as a
// restart of qBittorrent. The delays after refusals grow, because qBittorrent bans an address after five.
type login struct {
	turn     chan struct{} // one token
	admitted atomic.Int64
	session  atomic.Pointer[http.Response] // the answer that began the current one; its body has been read
	now      func() time.Time

	mu       sync.Mutex
	refusals int
	closed   time.Time // no login before this
}

// loginPauses follow the first refusal, the second, and all others. The fifth attempt comes after two days.
var loginPauses = []time.Duration{time.Minute, 10 * time.Minute, 24 * time.Hour}

func (l *login) try(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	}

	if session := l.session.Load(); session != nil { // another caller was faster
		again := *session
		again.Body, again.Request = io.NopCloser(strings.NewReader(admission)), r
		return &again, nil
	}
	if l.isClosed() {
		return nil, errLoginRefused
	}

	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}

	text, err := readShort(response)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusForbidden, response.StatusCode == http.StatusUnauthorized,
		strings.TrimSpace(text) == refused:
		l.refuse()
		return nil, errLoginRefused
	case response.StatusCode >= 400:
		return nil, statusError(response.StatusCode)
	}

	l.admit()
	l.admitted.Add(1)
	began := *response
	l.session.Store(&began)
	return response, nil
}

// withKey sends a request with an API key. There is no session; the same delays follow a rejected key.
func (l *login) withKey(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if l.isClosed() {
		return nil, errLoginRefused
	}

	response, err := next.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusForbidden, response.StatusCode == http.StatusUnauthorized:
		_ = response.Body.Close() // the status is sufficient
		l.refuse()
		return nil, errLoginRefused
	}

	l.admit()
	return response, nil
}

func (l *login) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Before(l.closed)
}

// refuse begins the delay after a refusal. Refusals of concurrent requests count once.
func (l *login) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); !now.Before(l.closed) {
		l.closed = now.Add(loginPauses[min(l.refusals, len(loginPauses)-1)])
		l.refusals++
	}
}

func (l *login) admit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = 0
}

// admission is the body of a successful login.
const admission = "Ok."

// forget ends the session of a refused request. A request without a session, or with an older one, proves nothing about
// the current one.
func (l *login) forget(r *http.Request) {
	session := l.session.Load()
	if session == nil {
		return
	}
	for _, cookie := range session.Cookies() {
		if sent, err := r.Cookie(cookie.Name); err != nil || sent.Value != cookie.Value {
			return
		}
	}
	l.session.CompareAndSwap(session, nil)
}
