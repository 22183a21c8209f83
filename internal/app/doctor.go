package app

import (
	"context"
	"sync"

	"stagecoach/activities"
	"stagecoach/internal/config"
	"stagecoach/internal/doctor"
	"stagecoach/internal/lifecycle"
)

// examine lets the process look at what it needs, and gives the function that ends this.
func (a *common) examine(ctx context.Context, service string, checks []doctor.Check) (stop func()) {
	examiner := doctor.Examiner{Store: a.store, Identity: identity(service), Checks: checks, Log: a.log}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { examiner.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// doctor gives what asks all processes.
func (a *common) doctor() *doctor.Doctor {
	return &doctor.Doctor{
		Store: a.store, Queues: []string{lifecycle.MainQueue, lifecycle.DeliveryQueue, lifecycle.TorrentQueue},
		PaymentQueues: []string{lifecycle.QuoteQueue, lifecycle.PaymentQueue},
	}
}

// ground is what each process needs.
func (a *common) ground() []doctor.Check {
	return []doctor.Check{doctor.OfPostgreSQL(a.store), doctor.OfTemporal(a.temporal, a.namespace)}
}

// storage checks the shared folder.
func (a *common) storage() doctor.Check {
	return doctor.OfYandex(a.yandex, a.store.TokenVault(yandexTokens), a.config.Yandex.Root)
}

// apiChecks are what an API needs.
func (a *common) apiChecks() []doctor.Check {
	bot := doctor.Off(doctor.Telegram, "this process runs no bot", doctor.AboutBot)
	if a.config.API.Bot {
		bot = doctor.OfTelegram(a.telegram, a.config.Telegram.APIURL, true)
	}
	balance := doctor.OfToncenter(doctor.Toncenter, a.chain(), a.config.TON.ToncenterKey != "")
	return append(a.ground(), bot, a.storage(), doctor.OnceThereIsAWallet(a.store, balance))
}

// workerChecks are what a worker needs for the queues that it serves.
func (a *common) workerChecks(shop activities.Main) []doctor.Check {
	c := a.config
	checks := append(a.ground(), doctor.OfQueues(served(c, shop.Monitor != nil)))
	if serves(c, lifecycle.DeliveryQueue) {
		checks = append(checks, doctor.OfTelegram(a.telegram, c.Telegram.APIURL, false), a.storage())
	}
	if serves(c, lifecycle.MainQueue) {
		checks = append(checks, torrentsCheck(c.QBittorrent, shop.Downloads))
	}
	if serves(c, lifecycle.PaymentQueue) {
		checks = append(checks, paymentChecks(c, shop.Cashier)...)
	}
	return checks
}

// served lists the task queues that a worker with these settings serves.
func served(c config.Config, key bool) (queues []string) {
	for _, queue := range config.TaskQueues {
		payments := queue == lifecycle.QuoteQueue || queue == lifecycle.PaymentQueue
		if serves(c, queue) && (key || !payments) {
			queues = append(queues, queue)
		}
	}
	return queues
}

func torrentsCheck(c config.QBittorrent, downloads *activities.Downloads) doctor.Check {
	if c.URL == "" {
		return doctor.Off(doctor.QBittorrent, "STAGECOACH_QBITTORRENT_URL is empty", doctor.AboutDownloads)
	}
	return doctor.OfQBittorrent(downloads.Torrents, c.Password != "")
}

// paymentChecks are what a process needs that pays.
func paymentChecks(c config.Config, cashier *activities.Cashier) []doctor.Check {
	if cashier.Wallet == nil {
		return []doctor.Check{doctor.Off(doctor.Wallet, "there is no key", doctor.AboutWallet)}
	}

	second := doctor.Off(doctor.Toncenter2, "there is no second source", doctor.AboutWallet)
	if cashier.Second != nil {
		second = doctor.OfToncenter(doctor.Toncenter2, cashier.Second.Chain, c.TON.SecondKey != "")
	}
	own := cashier.Wallet.Address()
	return []doctor.Check{
		doctor.OfToncenter(doctor.Toncenter, cashier.Chain, c.TON.ToncenterKey != ""), second,
		doctor.OfWallet(own, cashier.Chain), doctor.OfFragment(cashier.Fragment, own),
	}
}
