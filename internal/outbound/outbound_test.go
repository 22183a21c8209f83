package outbound_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mymmrac/telego"
	"golang.org/x/oauth2"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/oidc"
	"stagecoach/internal/outbound"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/telegram"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/internal/torznab"
	"stagecoach/internal/yandex"
)

// oneToken is a store with a token that needs renewal.
type oneToken struct{ token oauth2.Token }

func (s oneToken) UpdateToken(
	ctx context.Context, fn func(context.Context, oauth2.Token) (*oauth2.Token, error),
) (oauth2.Token, error) {
	_, err := fn(ctx, s.token)
	return s.token, err
}

func (s oneToken) CurrentToken(context.Context) (oauth2.Token, error) { return s.token, nil }

type accessToken string

func (t accessToken) AccessToken(context.Context, string) (string, error) { return string(t), nil }

// calls sends each external system a request, for each way of reading its answers.
var calls = map[string]func(ctx context.Context, url string) error{
	"toncenter": func(ctx context.Context, url string) error {
		_, err := toncenter.New(toncenter.Options{URL: url, APIKey: "planted", RequestsPerSecond: 1e6}).Head(ctx)
		return err
	},
	"toncenter, a broadcast": func(ctx context.Context, url string) error {
		_, err := toncenter.New(toncenter.Options{URL: url, APIKey: "planted", RequestsPerSecond: 1e6}).Broadcast(
			ctx, []byte("planted"),
		)
		return err
	},
	"fragment": func(ctx context.Context, url string) error {
		shop := fragment.New(fragment.Options{
			URL: url, Cookies: fragment.Cookies{"stel_ssid": "planted"}, RequestsPerSecond: 1e6,
			Wallet: fragment.Account{Address: ton.Address{}},
		})
		_, err := shop.Price(ctx, 50)
		return err
	},
	"yandex": func(ctx context.Context, url string) error {
		_, err := yandex.New(yandex.Options{
			APIURL: url, Root: "disk:/", Tokens: accessToken("planted"),
		}).Open(ctx, "/file", 0)
		return err
	},
	"yandex, a token": func(ctx context.Context, url string) error {
		_, err := yandex.NewRotating(yandex.RotatingOptions{
			TokenURL: url, ClientID: "id", ClientSecret: "planted", Store: oneToken{oauth2.Token{RefreshToken: "planted"}},
		}).AccessToken(ctx, "")
		return err
	},
	"telegram": func(ctx context.Context, url string) error {
		bot, err := telegram.New(telegram.Options{
			Token: "1000000:planted-planted-planted-planted-pla", APIURL: url, RequestsPerSecond: 1e6,
			ConnectTimeout: time.Minute,
		})
		if err != nil {
			return err
		}
		_, err = bot.SendMessage(ctx, &telego.SendMessageParams{ChatID: telego.ChatID{ID: 1}, Text: "planted"})
		return err
	},
	"oidc": func(ctx context.Context, url string) error {
		_, err := oidc.New(oidc.Options{Issuer: url, ClientID: "id", ClientSecret: "planted"}).Address(ctx, oidc.NewAttempt())
		return err
	},
	"torznab": func(ctx context.Context, url string) error {
		indexer := torznab.Indexer{URL: url, Key: "planted-key"}
		_, err := torznab.New(torznab.Options{Indexers: []torznab.Indexer{indexer}}).Check(ctx, indexer)
		return err
	},
	"qbittorrent": func(ctx context.Context, url string) error {
		_, err := qbittorrent.New(qbittorrent.Options{
			URL: url, Username: "admin", Password: "planted", ActiveCategory: "a",
		}).List(ctx)
		return err
	},
}

// TestSecretsFollowNoRedirect answers each client with a redirect that keeps method and body: its target receives no
// request.
func TestSecretsFollowNoRedirect(t *testing.T) {
	t.Parallel()

	for name, ask := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked, led atomic.Int64
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				led.Add(1)
				_, _ = w.Write([]byte(`{}`))
			}))
			defer elsewhere.Close()

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}))
			defer server.Close()

			if err := ask(t.Context(), server.URL); err == nil {
				t.Error("a redirect is no answer")
			}
			if asked.Load() == 0 || led.Load() > 0 {
				t.Errorf("%d requests, and %d went elsewhere", asked.Load(), led.Load())
			}
		})
	}
}

// proxied is the environment variable that makes TestConfiguredAddressesUseTheProxy only send requests.
const proxied = "STAGECOACH_TEST_PROXIED"

// TestConfiguredAddressesUseTheProxy from the environment, except for what NO_PROXY names. A program reads the
// environment once, so another process sends the requests.
func TestConfiguredAddressesUseTheProxy(t *testing.T) {
	if os.Getenv(proxied) != "" {
		for name, ask := range calls {
			for _, zone := range []string{"far", "near"} {
				_ = ask(t.Context(), "https://"+hostOf(name)+"."+zone+".invalid")
			}
		}
		return
	}

	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Method+" "+r.Host] = true
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), proxied+"=1", "HTTPS_PROXY="+proxy.URL, "NO_PROXY=.near.invalid")
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	want := map[string]bool{}
	for name := range calls {
		want["CONNECT "+hostOf(name)+".far.invalid:443"] = true
	}
	if !maps.Equal(asked, want) {
		t.Errorf("the proxy was asked for %v, want %v", slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(want)))
	}
}

// hostOf turns a call's name into a part of a host name.
func hostOf(call string) string { return strings.NewReplacer(", ", "-", " ", "-").Replace(call) }

// TestAnswersAreBounded answers each client with endless bytes: it stops reading, and fails with a code.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const most = 100 << 20 // bytes that any client may read, including what the system buffers

	type want struct {
		code  fault.Code
		retry bool
	}

	wants := map[string]want{
		"toncenter":              {fault.ChainProtocol, true},
		"toncenter, a broadcast": {fault.ChainProtocol, true},
		"fragment":               {fault.FragmentProtocol, true},
		"yandex":                 {fault.YandexProtocol, false},
		"yandex, a token":        {fault.YandexUnavailable, true},
		"telegram":               {fault.TelegramUnavailable, true},
		"oidc":                   {fault.SignInProviderAway, true},
		"qbittorrent":            {fault.ProviderUnavailable, true},
		"torznab":                {fault.SourceRefused, false},
	}

	for name, ask := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/auth/login") {
					http.SetCookie(w, &http.Cookie{Name: "SID", Value: "planted"})
					_, _ = w.Write([]byte("Ok."))
					return
				}

				piece := []byte(`[{"name":"` + strings.Repeat("a", 1<<20))
				for {
					n, err := w.Write(piece)
					if sent.Add(int64(n)); err != nil || sent.Load() > 2*most {
						return
					}
					piece = bytes.Repeat([]byte("a"), 1<<20)
				}
			}))
			defer server.Close()

			err := telegramFault(ask(t.Context(), server.URL))
			if want := wants[name]; fault.CodeOf(err) != want.code || fault.As(err).Retryable != want.retry {
				t.Errorf("%v, want %s, to be tried again %v", err, want.code, want.retry)
			}
			if sent.Load() > most {
				t.Errorf("it took more than %d bytes", sent.Load())
			}
		})
	}
}

// telegramFault returns the fault behind what telego wraps.
func telegramFault(err error) error {
	if known := fault.As(err); known != nil {
		return known
	}
	return telegram.Classify(err)
}

// TestAnAnswerAtTheLimit reads answers of the maximum length.
func TestAnAnswerAtTheLimit(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]error{0: nil, 9: nil, 10: nil, 11: outbound.ErrTooLong, 1000: outbound.ErrTooLong} {
		text := strings.Repeat("a", length)
		data, err := outbound.ReadAnswer(strings.NewReader(text), 10)
		if !errors.Is(err, want) || err == nil && string(data) != text {
			t.Errorf("of %d bytes: %q, %v", length, data, err)
		}
		answer := outbound.Bounded(&http.Response{Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(text)))}, 10)
		data, err = io.ReadAll(answer.Body)
		if !errors.Is(err, want) || string(data) != text[:min(length, 10)] {
			t.Errorf("of %d bytes: %q, %v", length, data, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-3": 0, "soon": 0, "99999999999": 0, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := outbound.RetryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("%q gives %v, want %v", value, got, want)
		}
	}
	at := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	if got := outbound.RetryAfter(http.Header{"Retry-After": {at}}); got < 58*time.Second || got > time.Minute {
		t.Errorf("a date in a minute gives %v", got)
	}
}
