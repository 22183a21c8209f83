package store

import "context"

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
