package run

import (
	"slices"

	"stagecoach/activities/download"
	"stagecoach/activities/transaction"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
)

// workerChecks are what a worker needs for the queues that it serves.
func (p process) workerChecks(parts parts) []doctor.Check {
	c := p.Config
	checks := append(p.GroundChecks(), doctor.OfQueues(served(c, parts.monitor != nil)))
	if serves(c, lifecycle.DeliveryQueue) {
		checks = append(checks, doctor.OfTelegram(p.Telegram, c.Telegram.APIURL, false), p.StorageCheck())
	}

	if serves(c, lifecycle.MainQueue) {
		checks = append(checks, torrentsCheck(c.QBittorrent, parts.downloads))
	}

	if serves(c, lifecycle.PaymentQueue) {
		checks = append(checks, paymentChecks(c, parts.payments)...)
	}
	return checks
}

// served lists the task queues that a worker with these settings serves.
func served(c config.Config, key bool) (queues []string) {
	for _, queue := range lifecycle.Queues() {
		if serves(c, queue) && (key || !slices.Contains(lifecycle.PaymentQueues, queue)) {
			queues = append(queues, queue)
		}
	}
	return queues
}

func torrentsCheck(c config.QBittorrent, downloads *download.Activities) doctor.Check {
	if c.URL == "" {
		return doctor.Off(doctor.QBittorrent, "STAGECOACH_QBITTORRENT_URL is empty", doctor.AboutDownloads)
	}
	return doctor.OfQBittorrent(downloads.Torrents, c.Password != "")
}

// paymentChecks are what a process needs that pays.
func paymentChecks(c config.Config, payments *transaction.PaymentActivities) []doctor.Check {
	if payments.Wallet == nil {
		return []doctor.Check{doctor.Off(doctor.Wallet, "there is no key", doctor.AboutWallet)}
	}

	second := doctor.Off(doctor.Toncenter2, "there is no second source", doctor.AboutWallet)
	if payments.Second != nil {
		second = doctor.OfToncenter(doctor.Toncenter2, payments.Second.Chain, c.TON.SecondKey != "")
	}

	own := payments.Wallet.Address()
	return []doctor.Check{
		doctor.OfToncenter(doctor.Toncenter, payments.Chain, c.TON.ToncenterKey != ""), second,
		doctor.OfWallet(own, payments.Chain), doctor.OfFragment(payments.Fragment, own),
	}
}
