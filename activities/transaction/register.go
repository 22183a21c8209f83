package transaction

import (
	"reflect"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterQuotes registers the activity that quotes orders at the worker of its queue.
func RegisterQuotes(w worker.ActivityRegistry, payments *PaymentActivities) {
	w.RegisterActivityWithOptions(payments.QuoteOrder, activity.RegisterOptions{Name: "QuoteOrder"})
}

// RegisterPayments registers the activities that need the wallet's key or Fragment's session. A process that does not
// have them registers activities that return their tasks.
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

// RegisterLeftPayments registers the activities of payments that 0.1.0 has left on the main queue, for a process that
// serves only payments. All other tasks of that queue need processes with what they use, such as qBittorrent.
func RegisterLeftPayments(w worker.ActivityRegistry, payments *PaymentActivities, monitor *Monitor) {
	RegisterPayments(w, payments, monitor)
	w.RegisterDynamicActivity(leaveToOthers, activity.DynamicRegisterOptions{})
}
