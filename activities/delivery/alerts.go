package delivery

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/notice"
)

// tokenAlerts are the failures that only an administrator can repair.
var tokenAlerts = map[fault.Code]string{
	fault.YandexUnauthorized:   notice.AlertStorageToken,
	fault.TelegramUnauthorized: notice.AlertTelegramToken,
}

// raiseAlert alerts the administrators to a failure that they have to repair.
func (a *Activities) raiseAlert(ctx context.Context, code fault.Code) {
	kind, ok := tokenAlerts[code]
	if !ok {
		return
	}
	a.healthy.Store(false)
	if err := a.Alerts.RaiseAlert(ctx, kind); err != nil {
		a.Log.Error("alert not raised", "kind", kind, "error", err)
	}
}

// resolveAlerts closes open alerts after a successful attempt: both tokens work again.
func (a *Activities) resolveAlerts(ctx context.Context) {
	if a.healthy.Swap(true) {
		return
	}
	for _, kind := range tokenAlerts {
		if err := a.Alerts.ResolveAlert(ctx, kind); err != nil {
			a.healthy.Store(false)
		}
	}
}
