package store

import (
	"context"
	"time"
)

// allQuotas lists the quotas of all workloads and that of tokens.
func allQuotas() (all []quota) {
	for _, part := range parts {
		all = append(all, part.quotas...)
	}
	return append(all, tokenQuota)
}

// QuotaNames lists the names of all quotas, as details of QUOTA_EXCEEDED have them.
func QuotaNames() (names []string) {
	for _, kind := range allQuotas() {
		names = append(names, kind.name)
	}
	return names
}

// AboveQuota is a user who has more of a kind than a limit allows, because it was lowered or came later.
type AboveQuota struct {
	UserID  int64  `db:"user_id"`
	Limit   string `db:"name"`
	Maximum int    `db:"maximum"`
	Count   int64  `db:"count"`
}

// aboveTime bounds how long the search for users above a limit may take: it reads the keys of all that counts.
const aboveTime = 2 * time.Second

// AboveQuotas lists up to limit users above each limit, those with the most first.
func (s *Store) AboveQuotas(ctx context.Context, limit int) (above []AboveQuota, err error) {
	ctx, cancel := context.WithTimeout(ctx, aboveTime)
	defer cancel()

	for _, kind := range allQuotas() {
		kind = s.Quotas.of(kind)
		if kind.maximum == 0 {
			continue
		}

		found, err := list[AboveQuota](ctx, s, `SELECT c.user_id, $3::text AS name, $1::int AS maximum, c.count FROM (`+kind.above+`) c
			JOIN users u ON u.id = c.user_id WHERE NOT (u.role = 'ADMIN' AND u.status = 'ACTIVE') ORDER BY c.count DESC, c.user_id LIMIT $2`,
			kind.maximum, limit, kind.name)
		if err != nil {
			return nil, err
		}

		above = append(above, found...)
	}

	return above, nil
}
