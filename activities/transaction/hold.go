package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/notice"
)

// holdAlerts are the incidents during which all purchases are held, because no attempt of any order can succeed. An
// outage of Fragment is missing here, because the monitoring of external systems reports it.
var holdAlerts = map[fault.Code]string{
	fault.FragmentUnauthorized: notice.AlertFragmentSession,
	fault.FragmentVerify:       notice.AlertFragmentSession,
	fault.PaymentNotAllowed:    notice.AlertPaymentRefused,
	fault.ChainClock:           notice.AlertChainClock,
}

// hold records that no purchase can succeed, and alerts the administrators. The order, if any, makes no more requests.
func (a *PaymentActivities) hold(ctx context.Context, why fault.Code, hash string) error {
	if alert := holdAlerts[why]; alert != "" {
		a.raise(ctx, alert)
	}
	return a.Store.Hold(ctx, string(why), hash)
}

func (a *PaymentActivities) raise(ctx context.Context, alert string) {
	a.healthy.Store(false)
	if err := a.Alerts.RaiseAlert(ctx, alert); err != nil {
		a.Log.Error("alert not raised", "kind", alert, "error", err)
	}
}

// alertTime bounds closing alerts after an attempt was cancelled.
const alertTime = 10 * time.Second

// resolveAlerts closes open alerts once a payment was signed: their causes are gone, even if the attempt is cancelled
// now. What fails is repeated after the next payment.
func (a *PaymentActivities) resolveAlerts(ctx context.Context) {
	if a.healthy.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), alertTime)
	defer cancel()

	over := []string{notice.AlertWalletEmpty, notice.AlertRefund}
	switches, switchErr := a.Store.Switches(ctx)
	held := switches.Hold.On() // a refund was signed
	if switchErr == nil && !held {
		over = append(over, notice.AlertFragmentSession, notice.AlertPaymentRefused)
	}

	deferred, deferErr := a.Store.AnyDeferred(ctx)
	if deferErr == nil && !deferred {
		over = append(over, notice.AlertDailyLimit)
	}

	if err := cmp.Or(switchErr, deferErr, a.Alerts.SetAlerts(ctx, nil, over)); err != nil || held || deferred {
		a.healthy.Store(false)
	}
}
