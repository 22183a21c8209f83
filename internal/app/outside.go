package app

import (
	"context"
	"time"

	"golang.org/x/oauth2"

	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// yandexTokens is the provider by which the record knows the storage's token.
const yandexTokens = "yandex"

// connectOutside makes the clients of Telegram and of the file storage. It keeps the first tokens of the storage.
func (a *Connections) connectOutside(ctx context.Context) (err error) {
	c := a.Config
	a.Telegram, err = telegram.New(telegram.Options{
		Token: c.Telegram.Token, APIURL: c.Telegram.APIURL, ConnectTimeout: c.Delivery.ConnectTimeout,
		RequestsPerSecond: c.Telegram.RequestsPerSecond,
		Observer:          a.Observer(operations.Telegram, a.Metrics.TelegramLatency),
	})
	if err != nil {
		return err
	}

	tokens := a.Store.TokenStore(yandexTokens)
	first := oauth2.Token{AccessToken: c.Yandex.AccessToken, RefreshToken: c.Yandex.RefreshToken}
	if err := RetryWhileUnavailable(ctx, a.Log, "the database", func() error { return tokens.Seed(ctx, first) }); err != nil {
		return err
	}

	a.tokens = yandex.NewRotating(yandex.RotatingOptions{
		TokenURL: c.Yandex.TokenURL, ClientID: c.Yandex.ClientID, ClientSecret: c.Yandex.ClientSecret,
		Store:         tokens,
		RefreshBefore: 5 * time.Minute,
		OnInvalid: func(ctx context.Context) {
			a.Log.Error("the storage refuses its refresh token: an administrator has to renew it")
			if err := a.Store.RaiseAlert(ctx, notice.AlertStorageToken); err != nil {
				a.Log.Error("alert not raised", "error", err)
			}
		},
	})

	a.Yandex = yandex.New(yandex.Options{
		APIURL: c.Yandex.APIURL, Root: c.Yandex.Root, Tokens: a.tokens,
		ConnectTimeout: c.Delivery.ConnectTimeout, CallTimeout: c.Delivery.StorageTimeout,
		Observer: a.Observer(operations.Yandex, a.Metrics.YandexLatency),
	})

	return nil
}
