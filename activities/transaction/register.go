package transaction

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterPayments registers what is done in the wallet's turn at the worker of its queue, which has one slot.
func RegisterPayments(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.Buy, activity.RegisterOptions{Name: "Buy"})
	w.RegisterActivityWithOptions(payments.Refund, activity.RegisterOptions{Name: "Refund"})
}

// RegisterWallet registers what follows the wallet and its payments beside the turn.
func RegisterWallet(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	w.RegisterActivityWithOptions(payments.ConfirmPurchase, activity.RegisterOptions{Name: "ConfirmPurchase"})
	w.RegisterActivityWithOptions(payments.ProveRefund, activity.RegisterOptions{Name: "ProveRefund"})
	w.RegisterActivity(monitor)
}
