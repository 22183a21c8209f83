package transaction

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterPayments registers the purchase activities with the worker of their queue, which has one slot.
func RegisterPayments(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.Pay, activity.RegisterOptions{Name: "Pay"})
}

// RegisterRefunds registers the refund activities with the worker of their queue, which has one slot: a hold of
// purchases and the queue of orders do not affect it.
func RegisterRefunds(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.Refund, activity.RegisterOptions{Name: "Refund"})
}

// RegisterWallet registers the activities that follow the wallet and its payments, separate from purchases and refunds.
func RegisterWallet(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	w.RegisterActivityWithOptions(payments.Confirm, activity.RegisterOptions{Name: "Confirm"})
	w.RegisterActivityWithOptions(payments.ProveRefund, activity.RegisterOptions{Name: "ProveRefund"})
	w.RegisterActivity(monitor)
}
