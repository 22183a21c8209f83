package outbound_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mymmrac/telego"
	"golang.org/x/oauth2"

	"stagecoach/internal/fragment"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/telegram"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/internal/yandex"
)

// oneToken is a store with a token that has to be renewed.
type oneToken struct{ token oauth2.Token }

func (s oneToken) UpdateToken(ctx context.Context, fn func(context.Context, oauth2.Token) (*oauth2.Token, error)) (oauth2.Token, error) {
	_, err := fn(ctx, s.token)
	return s.token, err
}

func (s oneToken) CurrentToken(context.Context) (oauth2.Token, error) { return s.token, nil }

type accessToken string

func (t accessToken) AccessToken(context.Context, string) (string, error) { return string(t), nil }

// TestSecretsFollowNoRedirect answers each client with a redirect that keeps method and body: whoever is named there is asked nothing.
func TestSecretsFollowNoRedirect(t *testing.T) {
	t.Parallel()

	for name, ask := range map[string]func(ctx context.Context, url string) error{
		"toncenter": func(ctx context.Context, url string) error {
			_, err := toncenter.New(toncenter.Options{URL: url, APIKey: "planted", RequestsPerSecond: 1e6}).Head(ctx)
			return err
		},
		"toncenter, a broadcast": func(ctx context.Context, url string) error {
			_, err := toncenter.New(toncenter.Options{URL: url, APIKey: "planted", RequestsPerSecond: 1e6}).Broadcast(ctx, []byte("planted"))
			return err
		},
		"fragment": func(ctx context.Context, url string) error {
			shop := fragment.New(fragment.Options{
				URL: url, Cookies: fragment.Cookies{"stel_ssid": "planted"}, RequestsPerSecond: 1e6, Wallet: fragment.Account{Address: ton.Address{}},
			})
			_, err := shop.Price(ctx, 50)
			return err
		},
		"yandex": func(ctx context.Context, url string) error {
			_, err := yandex.New(yandex.Options{APIURL: url, Root: "disk:/", Tokens: accessToken("planted")}).Open(ctx, "/file", 0)
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
				Token: "1000000:planted-planted-planted-planted-pla", APIURL: url, RequestsPerSecond: 1e6, ConnectTimeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = bot.SendMessage(ctx, &telego.SendMessageParams{ChatID: telego.ChatID{ID: 1}, Text: "planted"})
			return err
		},
		"qbittorrent": func(ctx context.Context, url string) error {
			_, err := qbittorrent.New(qbittorrent.Options{URL: url, Username: "admin", Password: "planted", ActiveCategory: "a"}).List(ctx)
			return err
		},
	} {
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
