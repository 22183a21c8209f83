package transaction

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterQuotes registers the activity that quotes orders at the worker of its queue.
func RegisterQuotes(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.QuoteOrder, activity.RegisterOptions{Name: "QuoteOrder"})
}

// RegisterPayments registers the activities that need the wallet's key or Fragment's session.
func RegisterPayments(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	w.RegisterActivity(payments)
	w.RegisterActivity(monitor)
}
