package e2e

import (
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
)

// TestLongPaymentsAlone buys and refunds with a process that holds the wallet's key and serves only payments, beside
// one without the key. The former has no secret about people, and its role in PostgreSQL has only the rights it needs.
func TestLongPaymentsAlone(t *testing.T) {
	night.Only(t)
	t.Parallel()
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := newPaymentRig(t, server, "payments-alone")
	key := l.env["STAGECOACH_TON_KEY"]

	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = "", "stagecoach,delivery,torrents,webhooks"
	l.startWorker()
	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = key, "payments,refunds,wallet"
	for _, secret := range []string{
		"STAGECOACH_TELEGRAM_TOKEN", "STAGECOACH_ENCRYPTION_KEY", "STAGECOACH_YANDEX_CLIENT_SECRET", "STAGECOACH_YANDEX_REFRESH_TOKEN",
	} {
		delete(l.env, secret)
	}
	l.env["DATABASE_URL"] = testdb.AsWallet(t, l.env["DATABASE_URL"])
	payments := l.start("worker")

	l.boughtOnce(l.deposit("durov 50"))
	l.balances()
	l.givenBackOnce(l.deposit("no order at all"))
	payments.stop()
	if logged := l.log.String(); strings.Contains(logged, "permission denied") {
		t.Error("the role lacks a right")
	}
}
