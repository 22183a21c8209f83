package app

import (
	"context"
	"time"

	"stagecoach/internal/oidc"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// connectTimeout bounds opening a connection to Telegram or the file storage.
const connectTimeout = 5 * time.Second

// yandexTokens is the provider name of the storage's token in the record.
const yandexTokens = "yandex"

// connectOutside makes the clients of Telegram and the file storage.
func (a *Connections) connectOutside() (err error) {
	c := a.Config
	if c.Telegram.Token != "" { // otherwise this process only pays
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
			a.Log.Error("storage rejected the refresh token: an administrator must renew it")
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
