package app

import (
	"cmp"
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"stagecoach/internal/config"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/internal/store/operations"
)

// Examine checks what a program needs with its settings, whether or not the program is running. It writes nothing.
func Examine(ctx context.Context, program config.Program, c config.Config) ([]doctor.Result, error) {
	a, err := connectToCheck(ctx, c)
	if err != nil {
		return nil, err
	}
	defer a.Close()

	checks := []doctor.Check{doctor.OfPostgreSQL(a.Store.Operations), doctor.OfTemporal(a.Temporal, a.Namespace)}
	if program == config.ForAPI {
		return doctor.Run(ctx, append(checks, a.apiChecks()...)), nil
	}

	for _, checksOf := range []func() ([]doctor.Check, error){a.streamingChecks, a.torrentChecks, a.paymentChecks} {
		own, err := checksOf()
		if err != nil {
			return nil, err
		}
		checks = append(checks, own...)
	}
	return doctor.Run(ctx, checks), nil
}

// connectToCheck makes connections that open on first use: an unavailable system is the result of a check.
func connectToCheck(ctx context.Context, c config.Config) (_ *Connections, err error) {
	const name = "doctor"
	a := &Connections{Config: c, Log: slog.New(slog.DiscardHandler), Metrics: processMetrics()}
	if a.Store, err = store.OpenPool(ctx, c.DatabaseURL, Pool(c.Connections, name), c.EncryptionKeys...); err != nil {
		return nil, err
	}

	a.Liveness = liveness.New(liveness.Options{Store: a.Store.Operations, Identity: identity(name), Service: name, Log: a.Log})

	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}

	a.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	if a.Temporal, err = client.NewLazyClient(options); err != nil {
		return nil, err
	}
	return a, a.connectOutside()
}

// apiChecks are what an API needs.
func (a *Connections) apiChecks() []doctor.Check {
	bot := doctor.Off(operations.Telegram, "this process runs no bot", doctor.AboutBot)
	if a.Config.API.Bot {
		bot = doctor.OfTelegram(a.Telegram, a.Config.Telegram.APIURL, true)
	}
	provider := doctor.Off(doctor.Provider, "STAGECOACH_OIDC_ISSUER is empty", doctor.AboutProvider)
	if o := a.Config.API.OIDC; o.Issuer != "" {
		provider = doctor.OfProvider(a.Provider(), o.Issuer, o.ClientID)
	}
	checks := []doctor.Check{
		bot, a.storageCheck(), provider, doctor.OnceThereIsAWallet(a.Store.Transactions, a.chainCheck()),
	}
	return append(checks, a.indexerChecks()...)
}

func (a *Connections) storageCheck() doctor.Check {
	return doctor.OfYandex(a.Yandex, a.Store.Accounts.TokenStore(yandexTokens), a.Config.Yandex.Root)
}

func (a *Connections) chainCheck() doctor.Check {
	return doctor.OfToncenter(a.Chain(), a.Config.TON.ToncenterKey != "")
}
