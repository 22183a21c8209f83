package transaction

import (
	"context"
	"log/slog"
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store/notice"
)

// TestAlertsEndThoughTheAttemptIsCancelled cancels an attempt right after its payment was signed: no later payment may
// come that would close its alerts.
func TestAlertsEndThoughTheAttemptIsCancelled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	s := testdb.New(t)
	a := &PaymentActivities{Store: s.Transactions, Alerts: s.Notices, Log: slog.New(slog.DiscardHandler)}
	a.raise(t.Context(), notice.AlertDailyLimit)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	a.resolveAlerts(cancelled)
	if open, err := s.Notices.Incidents(t.Context(), true, 0, 10); err != nil || len(open) > 0 {
		t.Errorf("open: %+v, %v", open, err)
	}
}
