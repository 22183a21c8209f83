package yandex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stagecoach/internal/fault"
)

// memory is a Store whose lock is a mutex.
type memory struct {
	lock     sync.Mutex
	token    oauth2.Token
	failSave error
}

func (m *memory) UpdateToken(
	ctx context.Context, fn func(context.Context, oauth2.Token) (*oauth2.Token, error),
) (oauth2.Token, error) {
	m.lock.Lock()
	defer m.lock.Unlock()

	next, err := fn(ctx, m.token)
	if err != nil {
		return oauth2.Token{}, fmt.Errorf("transaction: %w", err)
	}

	if next != nil {
		if m.failSave != nil {
			return oauth2.Token{}, m.failSave
		}
		m.token = *next
	}
	return m.token, nil
}

func (m *memory) CurrentToken(context.Context) (oauth2.Token, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.token, nil
}

// issuer is a token endpoint: a refresh token works once, the first is "refresh-0".
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	asked   int
	issued  int
	answer  http.HandlerFunc // when set, answers instead
	before  func()           // runs before each answer
	expires int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	s := &issuer{expires: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.asked++
		if s.before != nil {
			s.before()
		}

		w.Header().Set("Content-Type", "application/json")
		switch {
		case s.answer != nil:
			s.answer(w, r)
		case r.FormValue("grant_type") != "refresh_token" || r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "client-"+secret:
			answer(400, `{"error":"invalid_client"}`)(w, r)
		case r.FormValue("refresh_token") != s.refresh():
			answer(400, fmt.Sprintf(`{"error":"invalid_grant","error_description":%q}`, r.FormValue("refresh_token")))(w, r)
		default:
			s.issued++
			_, _ = fmt.Fprintf(
				w, `{"access_token":%q,"refresh_token":%q,"expires_in":%d,"token_type":"bearer"}`, s.access(), s.refresh(),
				s.expires,
			)
		}
	}))

	t.Cleanup(s.Close)
	return s
}

func (s *issuer) refresh() string { return fmt.Sprintf("refresh-%s-%d", secret, s.issued) }
func (s *issuer) access() string  { return fmt.Sprintf("access-%s-%d", secret, s.issued) }

func (s *issuer) asks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// seed is the token from the environment: the access token "access-…-0" with the given lifetime.
func (s *issuer) seed(lives time.Duration) oauth2.Token {
	return oauth2.Token{AccessToken: s.access(), RefreshToken: s.refresh(), Expiry: time.Now().Add(lives)}
}

func (s *issuer) rotating(store Store, seed oauth2.Token) (*Rotating, *atomic.Int32) {
	alerts := new(atomic.Int32)
	if m, ok := store.(*memory); ok && m.token == (oauth2.Token{}) {
		m.token = seed
	}
	return NewRotating(RotatingOptions{
		TokenURL: s.URL, ClientID: "id", ClientSecret: "client-" + secret, Store: store,
		OnInvalid: func(ctx context.Context) {
			if ctx.Err() == nil {
				alerts.Add(1)
			}
		},
	}), alerts
}

func wantToken(t *testing.T, r *Rotating, refused, want string) {
	t.Helper()
	if got, err := r.AccessToken(t.Context(), refused); err != nil || got != want {
		t.Fatalf("AccessToken = %q, %v, want %q", got, err, want)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s, store := newIssuer(t), &memory{}
	r, alerts := s.rotating(store, s.seed(time.Hour))
	first := s.access()
	wantToken(t, r, "", first) // the seed is good for an hour
	if s.asks() != 0 {
		t.Error("a good seed was exchanged")
	}

	wantToken(t, r, first, "access-"+secret+"-1")
	if store.token.RefreshToken != "refresh-"+secret+"-1" || time.Until(store.token.Expiry) < 59*time.Minute {
		t.Errorf("stored %+v", store.token)
	}

	wantToken(t, r, first, "access-"+secret+"-1") // the refused token is not the current one
	wantToken(t, r, "access-"+secret+"-1", "access-"+secret+"-2")

	store.token.Expiry = time.Now().Add(4 * time.Minute)
	later, _ := s.rotating(store, oauth2.Token{}) // another process, started near the token's expiry
	wantToken(t, later, "", "access-"+secret+"-3")
	if s.asks() != 3 || alerts.Load() != 0 {
		t.Errorf("%d exchanges, %d alerts", s.asks(), alerts.Load())
	}
}

func TestTwoProcessesExchangeOnce(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"expired": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, store := newIssuer(t), &memory{}
			seed, refusedToken := s.seed(time.Minute), ""
			if refused {
				seed, refusedToken = s.seed(time.Hour), s.access()
			}

			a, _ := s.rotating(store, seed)
			b, _ := s.rotating(store, seed)
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					r := []*Rotating{a, b}[i%2]
					if got, err := r.AccessToken(t.Context(), refusedToken); err != nil || got != "access-"+secret+"-1" {
						t.Errorf("AccessToken = %q, %v", got, err)
					}
				})
			}

			all.Wait()
			if s.asks() != 1 {
				t.Errorf("%d exchanges, want 1", s.asks())
			}
		})
	}
}

func TestRefusedAgainAfterRenewal(t *testing.T) {
	t.Parallel()
	s, d := newIssuer(t), newDisk(t, answer(401, `{"error":"UnauthorizedError"}`), nil)
	r, _ := s.rotating(&memory{}, s.seed(time.Hour))
	c := New(Options{APIURL: d.URL, Root: "disk:/", Tokens: r})
	_, err := c.Stat(t.Context(), "/a")
	wantFault(t, err, fault.YandexUnauthorized, false)
	if s.asks() != 1 || len(d.seen()) != 2 {
		t.Errorf("%d exchanges and %d calls, want 1 and 2", s.asks(), len(d.seen()))
	}
	if got := d.seen()[1].Header.Get("Authorization"); got != "OAuth access-"+secret+"-1" {
		t.Errorf("Authorization = %q, whatever token_type says", got)
	}
}

func TestFailedExchange(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"access_token":"` + secret))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}

	cases := map[string]struct {
		answer    http.HandlerFunc
		code      fault.Code
		retryable bool
		alerts    int32
	}{
		"invalid grant":  {answer(400, `{"error":"invalid_grant","error_description":"`+secret+`"}`), fault.YandexUnauthorized, false, 1},
		"invalid client": {answer(401, `{"error":"invalid_client"}`), fault.YandexUnauthorized, false, 1},
		"refused with OK": {
			answer(200, `{"error":"invalid_grant","error_uri":"https://x/`+secret+`"}`), fault.YandexUnauthorized, false, 1,
		},
		"bad request":   {answer(400, `{"error":"invalid_request `+secret+`"}`), fault.YandexProtocol, false, 0},
		"wrong address": {answer(404, secret), fault.YandexProtocol, false, 0},
		"too many":      {answer(429, secret), fault.YandexUnavailable, true, 0},
		"server error":  {answer(500, secret), fault.YandexUnavailable, true, 0},
		"bad gateway":   {answer(502, "<html>"+secret), fault.YandexUnavailable, true, 0},
		"no token":      {answer(200, `{"token":"`+secret+`"}`), fault.YandexUnavailable, true, 0},
		"no JSON":       {answer(200, secret), fault.YandexUnavailable, true, 0},
		"cut":           {cut, fault.YandexUnavailable, true, 0},
	}

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, store := newIssuer(t), &memory{}
			s.answer = c.answer
			r, alerts := s.rotating(store, oauth2.Token{RefreshToken: s.refresh()})
			for range 2 {
				_, err := r.AccessToken(t.Context(), "")
				wantFault(t, err, c.code, c.retryable)
			}

			if alerts.Load() != c.alerts {
				t.Errorf("%d alerts, want %d for two failures", alerts.Load(), c.alerts)
			}
			if store.token.AccessToken != "" || store.token.RefreshToken != s.refresh() {
				t.Errorf("stored %+v", store.token)
			}

			if c.retryable { // a token that lives a little longer bridges the trouble, unless it was rejected
				store.token = s.seed(time.Minute)
				r, _ = s.rotating(store, store.token)
				wantToken(t, r, "", s.access())
				_, err := r.AccessToken(t.Context(), s.access())
				wantFault(t, err, c.code, true)
			}
		})
	}

	s := newIssuer(t)
	r, _ := s.rotating(&memory{}, oauth2.Token{RefreshToken: s.refresh()})
	s.Close()
	_, err := r.AccessToken(t.Context(), "")
	wantFault(t, err, fault.YandexUnavailable, true)
}

func TestStaticToken(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	for _, expiry := range []time.Time{{}, time.Now().Add(-time.Hour)} {
		r, alerts := s.rotating(&memory{}, oauth2.Token{AccessToken: "static-" + secret, Expiry: expiry})
		wantToken(t, r, "", "static-"+secret)
		for range 3 {
			_, err := r.AccessToken(t.Context(), "static-"+secret)
			wantFault(t, err, fault.YandexUnauthorized, false)
		}
		if alerts.Load() != 1 {
			t.Errorf("%d alerts, want 1", alerts.Load())
		}
	}

	none, alerts := s.rotating(&memory{}, oauth2.Token{})
	_, err := none.AccessToken(t.Context(), "")
	wantFault(t, err, fault.YandexUnauthorized, false)
	if alerts.Load() != 1 || s.asks() != 0 {
		t.Errorf("%d alerts, %d exchanges", alerts.Load(), s.asks())
	}
}

func TestTokenIsNotUsedUnsavedNorLost(t *testing.T) {
	t.Parallel()
	s, store := newIssuer(t), &memory{failSave: errors.New("disk full")}
	r, alerts := s.rotating(store, s.seed(time.Minute))
	for range 2 {
		if token, err := r.AccessToken(t.Context(), ""); token != "" || !errors.Is(err, store.failSave) {
			t.Fatalf("AccessToken = %q, %v, want the store's error", token, err)
		}
	}

	store.failSave = nil
	wantToken(t, r, "", "access-"+secret+"-1")
	if store.token.RefreshToken != s.refresh() || s.asks() != 1 || alerts.Load() != 0 {
		t.Errorf("stored %+v after %d exchanges, %d alerts", store.token, s.asks(), alerts.Load())
	}

	wantToken(t, r, "access-"+secret+"-1", "access-"+secret+"-2")
}

func TestCancelledCallerDoesNotInterruptTheExchange(t *testing.T) {
	t.Parallel()
	s, store := newIssuer(t), &memory{}
	begun, finish := make(chan struct{}), make(chan struct{})
	s.before = func() { close(begun); <-finish }
	r, _ := s.rotating(store, s.seed(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	began := time.Now()
	if _, err := r.AccessToken(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}

	close(finish)
	wantToken(t, r, "", "access-"+secret+"-1")
	if s.asks() != 1 || store.token.RefreshToken != s.refresh() {
		t.Errorf("%d exchanges, stored %+v", s.asks(), store.token)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	stored, seed := oauth2.Token{AccessToken: "a", Expiry: time.Now().Add(time.Hour)}, s.seed(time.Minute)
	cases := map[string]struct {
		stored, seed oauth2.Token
		want         time.Time
	}{
		"stored":       {stored, seed, stored.Expiry},
		"seed":         {oauth2.Token{}, seed, seed.Expiry},
		"static":       {oauth2.Token{}, oauth2.Token{AccessToken: "a"}, time.Time{}},
		"refresh only": {oauth2.Token{}, oauth2.Token{RefreshToken: "r"}, time.Time{}},
	}

	for name, c := range cases {
		r, _ := s.rotating(&memory{token: c.stored}, c.seed)
		if got, err := r.Expiry(t.Context()); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}
