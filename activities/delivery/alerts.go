package delivery

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/notice"
)

// alerts are the failures that only an administrator can fix.
var alerts = map[fault.Code]string{
	fault.YandexUnauthorized:   notice.AlertStorageToken,
	fault.TelegramUnauthorized: notice.AlertTelegramToken,
	fault.TelegramFolder:       notice.AlertTelegramFolder,
}

// raiseAlert alerts the administrators to a failure that only they can fix.
func (a *Activities) raiseAlert(ctx context.Context, code fault.Code) {
	kind, ok := alerts[code]
	if !ok {
		return
	}
	a.healthy.Store(false)
	if err := a.Alerts.RaiseAlert(ctx, kind); err != nil {
		a.Log.Error("alert not raised", "kind", kind, "error", err)
	}
}

// resolveAlerts closes open alerts after a successful attempt: both tokens work again. The folder's alert is closed
// only if a file was read from it, or if it is no longer used.
func (a *Activities) resolveAlerts(ctx context.Context) {
	if a.healthy.Swap(true) {
		return
	}
	for code, kind := range alerts {
		if code == fault.TelegramFolder && a.folderUnread.Load() {
			continue
		}
		if err := a.Alerts.ResolveAlert(ctx, kind); err != nil {
			a.healthy.Store(false)
		}
	}
}
