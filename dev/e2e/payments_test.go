package e2e

import (
	"testing"

	"stagecoach/internal/lifecycle"
)

// TestPaymentsAlone buys with a process that holds the wallet's key and serves payments only, beside one that does not.
func TestPaymentsAlone(t *testing.T) {
	t.Parallel()
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := newPaymentRig(t, server, "payments-alone")
	key := l.env["STAGECOACH_TON_KEY"]

	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = "", "stagecoach,delivery,torrents,webhooks"
	l.startWorker()
	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = key, "payments,wallet"
	l.start("worker")
	l.becomes(l.deposit("durov 50"), lifecycle.TransactionProcessed)
}
