package app

import (
	"context"
	"time"

	"golang.org/x/oauth2"

	"stagecoach/internal/oidc"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// connectTimeout is the longest time to open a connection to Telegram or to the file storage.
const connectTimeout = 5 * time.Second

// yandexTokens is the provider by which the record knows the storage's token.
const yandexTokens = "yandex"

// seedTokens keeps the first tokens of the file storage.
func (a *Connections) seedTokens(ctx context.Context) error {
	c := a.Config.Yandex
	first := oauth2.Token{AccessToken: c.AccessToken, RefreshToken: c.RefreshToken}
	return RetryWhileUnavailable(ctx, a.Log, "the database", func() error {
		return a.Store.Accounts.TokenStore(yandexTokens).Seed(ctx, first)
	})
}

// connectOutside makes the clients of Telegram and of the file storage.
func (a *Connections) connectOutside() (err error) {
	c := a.Config
	if c.Telegram.Token != "" { // else this process pays only
		a.Telegram, err = telegram.New(telegram.Options{
			Token: c.Telegram.Token, APIURL: c.Telegram.APIURL, ConnectTimeout: connectTimeout,
			RequestsPerSecond: c.Telegram.RequestsPerSecond,
			Observer:          a.Observer(operations.Telegram, a.Metrics.TelegramLatency),
		})
		if err != nil {
			return err
		}
	}

	a.tokens = yandex.NewRotating(yandex.RotatingOptions{
		TokenURL: c.Yandex.TokenURL, ClientID: c.Yandex.ClientID, ClientSecret: c.Yandex.ClientSecret,
		Store:         a.Store.Accounts.TokenStore(yandexTokens),
		RefreshBefore: 5 * time.Minute,
		OnInvalid: func(ctx context.Context) {
			a.Log.Error("the storage refuses its refresh token: an administrator has to renew it")
			if err := a.Store.Notices.RaiseAlert(ctx, notice.AlertStorageToken); err != nil {
				a.Log.Error("alert not raised", "error", err)
			}
		},
	})

	a.Yandex = yandex.New(yandex.Options{
		APIURL: c.Yandex.APIURL, Root: c.Yandex.Root, Tokens: a.tokens,
		ConnectTimeout: connectTimeout, CallTimeout: c.Delivery.StorageTimeout,
		Observer: a.Observer(operations.Yandex, a.Metrics.YandexLatency),
	})

	return nil
}

// Provider makes the client of the provider with which people sign in.
func (a *Connections) Provider() *oidc.Client {
	c := a.Config.API
	return oidc.New(oidc.Options{
		Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID, ClientSecret: c.OIDC.ClientSecret,
		RedirectURL: c.BrowserURL() + oidc.CallbackPath, AdminGroup: c.OIDC.AdminGroup,
	})
}
