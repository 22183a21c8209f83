package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Alert is one incident that the administrators should hear of once, when it begins and when it is over.
type Alert struct {
	ID    int64  `db:"id"`
	Kind  string `db:"kind"`
	Begun bool   `db:"begun"` // nobody was told of it before
	Over  bool   `db:"over"`
}

// Kinds of alerts.
const (
	AlertStorageToken   = "storage_token_invalid"
	AlertTelegramToken  = "telegram_token_invalid"
	AlertDownloadsAway  = "downloads_unreachable"   // qBittorrent, for long
	AlertDownloadsLogin = "downloads_login_refused" // by qBittorrent
	AlertDownloadsSpace = "downloads_space_low"

	AlertFragmentSession   = "fragment_session_expired" // purchases are held until it is renewed
	AlertPaymentRefused    = "payment_check_failed"     // Fragment wants something paid that we do not pay
	AlertDailyLimit        = "daily_limit_reached"      // purchases are held for a while
	AlertWalletEmpty       = "wallet_balance_low"
	AlertTransactionStuck  = "transaction_stuck"
	AlertTransactionReview = "transaction_needs_review"
	AlertRefund            = "refund_not_possible"
	AlertChain             = "chain_not_followed" // toncenter cannot be reached, or a transaction is missing in what it tells
)

// RaiseAlert opens an incident; while one of the same kind is open it changes nothing.
func (s *Store) RaiseAlert(ctx context.Context, kind string) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO alerts (kind) VALUES ($1) ON CONFLICT DO NOTHING`, kind)
	return unavailable(err)
}

// ResolveAlert closes the open incident of a kind.
func (s *Store) ResolveAlert(ctx context.Context, kind string) error {
	_, err := s.pool.Exec(ctx, `UPDATE alerts SET resolved_at = now() WHERE kind = $1 AND resolved_at IS NULL`, kind)
	return unavailable(err)
}

// TakeUnsentAlerts gives alerts, and ends of alerts, nobody was told of and marks them as told: each is sent at most once.
func (s *Store) TakeUnsentAlerts(ctx context.Context) ([]Alert, error) {
	return list[Alert](ctx, s, `WITH unsent AS (
			SELECT id, sent_at IS NULL AS begun FROM alerts
			WHERE sent_at IS NULL OR resolved_at IS NOT NULL AND over_sent_at IS NULL FOR UPDATE
		) UPDATE alerts a SET sent_at = coalesce(sent_at, now()), over_sent_at = CASE WHEN resolved_at IS NOT NULL THEN now() END
		FROM unsent WHERE a.id = unsent.id RETURNING a.id, kind, begun, resolved_at IS NOT NULL AS over`)
}

// OpenAlerts lists the kinds of the incidents that are open.
func (s *Store) OpenAlerts(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT kind FROM alerts WHERE resolved_at IS NULL ORDER BY kind`)
	if err != nil {
		return nil, unavailable(err)
	}
	kinds, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return kinds, unavailable(err)
}
