package transaction

import (
	"reflect"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterQuotes adds what quotes orders to the worker of the queue where they wait for that.
func RegisterQuotes(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.QuoteOrder, activity.RegisterOptions{Name: "QuoteOrder"})
}

// RegisterPayments adds what needs the wallet's key or Fragment's session to a worker. A process that does not have them
// gives this work back.
func RegisterPayments(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	if payments.Wallet != nil {
		w.RegisterActivity(payments)
		w.RegisterActivity(monitor)
		return
	}

	for _, activities := range []reflect.Type{reflect.TypeFor[*PaymentActivities](), reflect.TypeFor[*Monitor]()} {
		for method := range activities.Methods() {
			w.RegisterActivityWithOptions(refuseHere, activity.RegisterOptions{Name: method.Name})
		}
	}
}

// RegisterLeftPayments adds the payments that 0.1.0 has left on the main queue to a worker of a process for payments
// alone. Everything else on that queue is for processes that have what it takes, such as qBittorrent.
func RegisterLeftPayments(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	RegisterPayments(w, payments, monitor)
	w.RegisterDynamicActivity(leaveToOthers, activity.DynamicRegisterOptions{})
}
