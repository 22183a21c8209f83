package run

import (
	"stagecoach/activities"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
)

// workerChecks are what a worker needs for the queues that it serves.
func (a process) workerChecks(shop activities.Main) []doctor.Check {
	c := a.Config
	checks := append(a.GroundChecks(), doctor.OfQueues(served(c, shop.Monitor != nil)))
	if serves(c, lifecycle.DeliveryQueue) {
		checks = append(checks, doctor.OfTelegram(a.Telegram, c.Telegram.APIURL, false), a.StorageCheck())
	}

	if serves(c, lifecycle.MainQueue) {
		checks = append(checks, torrentsCheck(c.QBittorrent, shop.Downloads))
	}

	if serves(c, lifecycle.PaymentQueue) {
		checks = append(checks, paymentChecks(c, shop.Payments)...)
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
func paymentChecks(c config.Config, cashier *activities.PaymentActivities) []doctor.Check {
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
